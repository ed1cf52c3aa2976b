import Containers
import Glibc

/// How stored values become lightness and the two opponent colours of CIELab, and those become sRGB.
///
/// Lightness goes from 0 to 100, green to red and blue to yellow from about -128 to 128. Source: ISO/IEC 15444-2,
/// annex M.11.7.4.1; CIE 15:2004, section 8.2.1.
struct LabScale: Hashable {
  /// By how much the three values differ from the least stored number to the greatest.
  private let ranges: [Float]
  /// What the least stored number stands for.
  private let least: [Float]

  /// - Parameters:
  ///   - coding: what the file says; `nil` if it leaves that to the standard.
  ///   - bits: the bits of the three components.
  init(_ coding: JPEG2000Structure.LabCoding?, bits: [Int]) {
    let (a, b) = ((1 << bits[1]) / 2, (1 << bits[2]) * 3 / 8)
    let coding = coding ?? JPEG2000Structure.LabCoding(ranges: [100, 170, 200], zeros: [0, a, b])
    ranges = coding.ranges.map { Float($0) }
    least = (0..<3).map { index in
      -Float(coding.zeros[index]) * Float(coding.ranges[index]) / Float(1 << bits[index] - 1)
    }
  }

  /// Returns red, green and blue of sRGB, from 0 to 255 or beyond if it has no such colour.
  ///
  /// The light is taken for D50, as of ICC profiles, so white is white whatever the file says of its light.
  ///
  /// - Parameter stored: values from 0 to 255.
  func color(_ stored: (Float, Float, Float)) -> (Float, Float, Float) {
    let lightness = stored.0 / 255 * ranges[0] + least[0]
    let y = (lightness + 16) / 116
    let x = y + (stored.1 / 255 * ranges[1] + least[1]) / 500
    let z = y - (stored.2 / 255 * ranges[2] + least[2]) / 200
    // The white of ICC.1, section 7.2.16, and sRGB's primaries adapted to it as in annex E.
    let (bigX, bigY, bigZ) = (0.9642 * Self.linear(x), Self.linear(y), 0.8249 * Self.linear(z))
    return (
      Self.encoded(3.13414 * bigX - 1.61739 * bigY - 0.49066 * bigZ),
      Self.encoded(-0.97880 * bigX + 1.91625 * bigY + 0.03344 * bigZ),
      Self.encoded(0.07196 * bigX - 0.22899 * bigY + 1.40539 * bigZ)
    )
  }

  private static func linear(_ value: Float) -> Float {
    value > 6 / 29 ? value * value * value : (value - 4 / 29) * 108 / 841
  }

  /// Source: IEC 61966-2-1.
  private static func encoded(_ value: Float) -> Float {
    255 * (value > 0.003_130_8 ? 1.055 * powf(value, 1 / 2.4) - 0.055 : 12.92 * value)
  }
}
