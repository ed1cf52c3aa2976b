import Glibc

/// A blurred picture in 17 to 25 bytes, with its shape and its alpha.
///
/// Source: Evan Wallace, ThumbHash, https://evanw.github.io/thumbhash/.
struct ThumbHash {
  let bytes: [UInt8]

  init(_ swatch: Swatch) {
    let (width, height) = (swatch.width, swatch.height)
    let hasAlpha = swatch.hasAlpha
    let opaque = swatch.onMeanColor()
    // Brightness, yellow against blue, red against green.
    var planes = (lightness: [Double](), yellow: [Double](), red: [Double]())
    for index in 0..<(width * height) {
      let (red, green, blue) = (opaque.red[index], opaque.green[index], opaque.blue[index])
      planes.lightness.append((red + green + blue) / 3)
      planes.yellow.append((red + green) / 2 - blue)
      planes.red.append(red - green)
    }
    // Alpha takes the space of some details.
    let limit = Double(hasAlpha ? 5 : 7)
    let longer = Double(max(width, height))
    let columns = max(1, Int((limit * Double(width) / longer).rounded()))
    let rows = max(1, Int((limit * Double(height) / longer).rounded()))
    func channel(_ plane: [Double], _ columns: Int, _ rows: Int) -> Channel {
      Channel(plane, width: width, height: height, columns: columns, rows: rows)
    }
    let lightness = channel(planes.lightness, max(3, columns), max(3, rows))
    let yellow = channel(planes.yellow, 3, 3)
    let red = channel(planes.red, 3, 3)

    let isLandscape = width > height
    let colors =
      Self.steps(lightness.mean, 63) | Self.steps((yellow.mean + 1) / 2, 63) << 6
      | Self.steps((red.mean + 1) / 2, 63) << 12 | Self.steps(lightness.scale, 31) << 18
      | (hasAlpha ? 1 : 0) << 23
    let shape =
      (isLandscape ? rows : columns) | Self.steps(yellow.scale, 63) << 3
      | Self.steps(red.scale, 63) << 9 | (isLandscape ? 1 : 0) << 15
    var bytes = [colors, colors >> 8, colors >> 16, shape, shape >> 8]
      .map { UInt8(truncatingIfNeeded: $0) }
    var details = lightness.details + yellow.details + red.details
    if hasAlpha {
      let alpha = channel(swatch.alpha, 5, 5)
      bytes.append(UInt8(Self.steps(alpha.mean, 15) | Self.steps(alpha.scale, 15) << 4))
      details += alpha.details
    }
    let nibbles = details.map { UInt8(Self.steps($0, 15)) }
    for index in stride(from: 0, to: nibbles.count, by: 2) {
      bytes.append(nibbles[index] | (index + 1 < nibbles.count ? nibbles[index + 1] << 4 : 0))
    }
    self.bytes = bytes
  }

  /// A value from 0 to 1 as a whole number of steps.
  private static func steps(_ value: Double, _ count: Int) -> Int {
    min(count, max(0, Int((value * Double(count)).rounded())))
  }

  /// The low frequencies of a plane.
  private struct Channel {
    let mean: Double
    /// The greatest detail.
    let scale: Double
    /// Details as shares of the greatest, where one half is none.
    let details: [Double]

    init(_ plane: [Double], width: Int, height: Int, columns: Int, rows: Int) {
      let transform = CosineTransform(
        plane, width: width, height: height, columns: columns, rows: rows)
      var details: [Double] = []
      for v in 0..<rows {
        for u in 0..<columns where u * rows < columns * (rows - v) && u + v > 0 {
          details.append(transform[u, v])
        }
      }
      let greatest = details.reduce(0) { max($0, abs($1)) }
      let scale = greatest > CosineTransform.roundingError ? greatest : 0
      mean = transform[0, 0]
      self.scale = scale
      self.details = details.map { scale > 0 ? 0.5 + 0.5 / scale * $0 : 0 }
    }
  }
}
