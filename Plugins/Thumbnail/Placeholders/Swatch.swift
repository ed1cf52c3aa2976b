import Vips

/// A picture of at most 100 pixels on a side, from which placeholders are computed.
struct Swatch {
  /// The longer side in pixels: as many as a ThumbHash is made of.
  static let side = 100

  let width: Int
  let height: Int
  /// One value for each pixel, row by row, from 0 to 1; colours are sRGB's and not premultiplied.
  private(set) var red: [Double]
  private(set) var green: [Double]
  private(set) var blue: [Double]
  private(set) var alpha: [Double]

  /// Takes the pixels of an upright 8-bit picture in grey or sRGB.
  init(_ small: SmallPicture) throws(VipsError) {
    let picture = small.picture
    (width, height) = (picture.width, picture.height)
    let bands = try Self.bands(of: picture)
    red = bands[0]
    (green, blue) = picture.bands < 3 ? (red, red) : (bands[1], bands[2])
    alpha = bands.last ?? []
    if let flattened = small.alpha {
      alpha = try Self.bands(of: flattened)[0]
      red = unflattened(red)
      green = unflattened(green)
      blue = unflattened(blue)
    } else if !picture.hasAlpha {
      alpha = [Double](repeating: 1, count: width * height)
    }
  }

  private static func bands(of picture: Picture) throws(VipsError) -> [[Double]] {
    let bytes = try picture.pixelBytes()
    return (0..<picture.bands).map { band in
      stride(from: band, to: bytes.count, by: picture.bands).map { Double(bytes[$0]) / 255 }
    }
  }

  /// The values before they were put on white; 0 where none of them is left.
  private func unflattened(_ band: [Double]) -> [Double] {
    zip(band, alpha).map { value, alpha in
      alpha > 0 ? min(1, max(0, (value - (1 - alpha)) / alpha)) : 0
    }
  }

  var hasAlpha: Bool { alpha.contains { $0 < 1 } }

  /// The mean colour, in which pixels count as much as they are opaque; `nil` if all are transparent.
  var meanColor: (red: Double, green: Double, blue: Double)? {
    let weight = alpha.reduce(0, +)
    guard weight > 0 else { return nil }
    func mean(_ band: [Double]) -> Double {
      zip(band, alpha).reduce(0) { $0 + $1.0 * $1.1 } / weight
    }
    return (mean(red), mean(green), mean(blue))
  }

  /// The same picture on a background of its mean colour.
  ///
  /// Transparent pixels then change neither brightness nor colours.
  func onMeanColor() -> Swatch {
    guard hasAlpha else { return self }
    let mean = meanColor ?? (0, 0, 0)
    var opaque = self
    for index in alpha.indices {
      let rest = 1 - alpha[index]
      opaque.red[index] = red[index] * alpha[index] + mean.red * rest
      opaque.green[index] = green[index] * alpha[index] + mean.green * rest
      opaque.blue[index] = blue[index] * alpha[index] + mean.blue * rest
    }
    return opaque
  }
}
