import Glibc

/// How much there is to see in a picture: neither black, nor a single colour, nor blurred.
///
/// Measured on the brightness of a reduction to at most 160 pixels, by averages. `contrast` is the
/// entropy of a histogram of 64 steps in bits (0 to 6); `sharpness` is the mean of the absolute
/// Laplacian (in 0 to 255).
struct FrameInterest {
  let contrast: Double
  let sharpness: Double

  /// Measures a picture.
  init(_ poster: Poster) {
    let grey = Self.reduction(of: poster)
    contrast = Self.entropy(grey.values)
    sharpness = Self.meanLaplacian(grey.values, width: grey.width)
  }

  /// Contrast times sharpness, where more than 8 of the latter is no gain: that is noise or text.
  var score: Double { contrast * (0.25 + min(sharpness, 8)) }

  /// Whether a picture is shown without looking for a better one.
  ///
  /// Twelve of thirteen photographs by cameras have that much of both, at 512 pixels; of the same
  /// photographs blurred by a Gaussian of eight pixels none has.
  var isGood: Bool { contrast >= 3.25 && sharpness >= 1.5 }

  /// Whether a picture shows next to nothing.
  var isBlank: Bool { contrast < 1 || sharpness < 0.2 }

  private static let side = 160

  /// Averages of blocks, as brightness.
  private static func reduction(of poster: Poster) -> (values: [Int], width: Int) {
    let block = max(1, (max(poster.width, poster.height) + side - 1) / side)
    let width = max(1, poster.width / block)
    let height = max(1, poster.height / block)
    let columns = min(block, poster.width)
    let rows = min(block, poster.height)
    // 16 values of a block are as good as all.
    let step = max(1, block / 4)
    var values = [Int](repeating: 0, count: width * height)
    poster.pixels.withUnsafeBufferPointer { pixels in
      for y in 0..<height {
        for x in 0..<width {
          var sum = 0
          var count = 0
          for row in Swift.stride(from: 0, to: rows, by: step) {
            for column in Swift.stride(from: 0, to: columns, by: step) {
              let at = ((y * block + row) * poster.width + x * block + column) * 3
              // The weights of Rec. ITU-R BT.709, in 256ths.
              sum += 54 * Int(pixels[at]) + 183 * Int(pixels[at + 1]) + 19 * Int(pixels[at + 2])
              count += 256
            }
          }
          values[y * width + x] = sum / count
        }
      }
    }
    return (values, width)
  }

  private static func entropy(_ values: [Int]) -> Double {
    var histogram = [Int](repeating: 0, count: 64)
    for value in values { histogram[min(value, 255) / 4] += 1 }
    let total = Double(values.count)
    return histogram.reduce(0.0) { sum, count in
      guard count > 0 else { return sum }
      let part = Double(count) / total
      return sum - part * log2(part)
    }
  }

  private static func meanLaplacian(_ values: [Int], width: Int) -> Double {
    let height = values.count / width
    guard width > 2, height > 2 else { return 0 }
    var sum = 0
    for y in 1..<(height - 1) {
      for x in 1..<(width - 1) {
        let at = y * width + x
        sum += abs(
          4 * values[at] - values[at - 1] - values[at + 1] - values[at - width]
            - values[at + width])
      }
    }
    return Double(sum) / Double((width - 2) * (height - 2)) / 4
  }
}
