package import Containers
import Glibc
package import Vips

/// A picture read back from a file's bytes.
package struct PicturesReading {
  /// The width as stored.
  package let width: Int
  /// The height as stored.
  package let height: Int
  /// Values a pixel.
  package let bands: Int
  /// The names of all metadata.
  package let fields: [String]
  /// The embedded profile.
  package let profile: ColorProfile?
  /// What the EXIF block says.
  package let exif: ExifBlock?
  /// The kind of file.
  package let loader: PictureLoader
  /// Three bytes a pixel; alpha on white; no profile is heeded.
  package let pixels: [UInt8]

  /// Reads a file's bytes.
  package init(_ bytes: [UInt8]) throws {
    let source = try PictureSource(bytes: bytes)
    loader = try source.loader()
    let picture = try Picture.load(source, as: loader)
    width = picture.width
    height = picture.height
    bands = picture.bands
    fields = picture.fields
    profile = picture.blob(Picture.Field.profile).flatMap(ColorProfile.init)
    exif = picture.blob(Picture.Field.exif).flatMap { ExifBlock($0) }
    let opaque = picture.hasAlpha ? try picture.flattened() : picture
    let memory = try opaque.rendered()
    pixels = try (memory.space == .srgb ? memory : memory.converted(to: .srgb)).pixelBytes()
  }

  /// The mean colour of a rectangle given in fractions of the whole.
  package func color(x: ClosedRange<Double>, y: ClosedRange<Double>) -> [Int] {
    var sums = [0, 0, 0]
    var count = 0
    for row in Int(y.lowerBound * Double(height))..<Int(y.upperBound * Double(height)) {
      for column in Int(x.lowerBound * Double(width))..<Int(x.upperBound * Double(width)) {
        for band in 0..<3 { sums[band] += Int(pixels[(row * width + column) * 3 + band]) }
        count += 1
      }
    }
    return count == 0 ? sums : sums.map { $0 / count }
  }

  /// The colours in the middle of the four quarters, in the order of `Pictures.corners`.
  package var corners: [[Int]] {
    [
      color(x: 0.1...0.4, y: 0.1...0.4), color(x: 0.6...0.9, y: 0.1...0.4),
      color(x: 0.1...0.4, y: 0.6...0.9), color(x: 0.6...0.9, y: 0.6...0.9),
    ]
  }

  /// Peak signal-to-noise ratio in decibels; 0 if the sizes differ, infinite for the same pixels.
  package func psnr(to other: PicturesReading) -> Double {
    guard width == other.width, height == other.height else { return 0 }
    var sum = 0
    for (left, right) in zip(pixels, other.pixels) {
      let difference = Int(left) - Int(right)
      sum += difference * difference
    }
    guard sum > 0 else { return .infinity }
    return 10 * log10(255 * 255 * Double(pixels.count) / Double(sum))
  }
}

extension Pictures {
  /// The greatest difference between two colours in any band.
  package static func distance(_ left: [Int], _ right: [Int]) -> Int {
    zip(left, right).map { abs($0 - $1) }.max() ?? 0
  }
}
