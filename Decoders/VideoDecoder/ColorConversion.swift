import CLibAV
import Glibc

/// Converts high dynamic range, and primaries that are wider than sRGB's, to sRGB.
///
/// In a film made for 1,000 cd/m², light up to 88 cd/m² is kept in proportion to the 203 cd/m² of
/// white; what is brighter is compressed by a spline. All three colours get the factor of the
/// brightest of them, so hues stay. Colours outside sRGB are clipped.
///
/// Sources: Rec. ITU-R BT.2100 (PQ, HLG), Report ITU-R BT.2390 section 5.4.1 (the spline), Report
/// ITU-R BT.2408 (203 cd/m²), Rec. ITU-R BT.2087 (the matrix), IEC 61966-2-1 (sRGB).
struct ColorConversion {
  private enum Transfer { case pq, hlg, sdr }

  /// Light in cd/m² of white, for tone mapping.
  private static let white: Float = 203
  /// Light in cd/m² of a display for HLG, whose system gamma is 1.2.
  private static let hlgPeak: Float = 1000
  /// The number of steps of tables.
  private static let steps = 4096

  private let transfer: Transfer
  private let matrix: [Float]?
  /// Light by the upper 12 bits of a value: cd/m² for PQ, of the scene for HLG, else 0 to 1.
  private let light: [Float]
  /// The factor for the brightest colour, by the root of its light.
  private let gain: [Float]
  private let peak: Float

  /// Returns `nil` for frames that can be shown as they are.
  init?(_ frame: VideoFrame) {
    let source = frame.pointer.pointee
    switch source.color_trc {
    case AVCOL_TRC_SMPTE2084: transfer = .pq
    case AVCOL_TRC_ARIB_STD_B67: transfer = .hlg
    default: transfer = .sdr
    }
    switch source.color_primaries {
    case AVCOL_PRI_BT2020: matrix = Self.fromBT2020
    case AVCOL_PRI_SMPTE432: matrix = Self.fromP3
    // Films that don't say are made as BT.2100 wants it.
    case AVCOL_PRI_UNSPECIFIED where transfer != .sdr: matrix = Self.fromBT2020
    default: matrix = nil
    }
    if transfer == .sdr && matrix == nil { return nil }
    let transfer = transfer
    light = (0..<Self.steps).map { step in
      let value = Float(step) / Float(Self.steps - 1)
      return switch transfer {
      case .pq: Self.lightOfPQ(value)
      case .hlg: Self.sceneOfHLG(value)
      case .sdr: Self.lightOfSRGB(value)
      }
    }
    peak =
      switch transfer {
      case .pq: Self.masteringPeak(frame) ?? 1000
      case .hlg: Self.hlgPeak
      case .sdr: 1
      }
    gain = transfer == .sdr ? [] : Self.gains(peak: peak)
  }

  /// Converts rows of RGB with 16 bits, little-endian, to 8.
  func convert(_ values: UnsafeBufferPointer<UInt16>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: values.count) { out, count in
      var index = 0
      while index + 2 < values.count {
        let (red, green, blue) = displayed(
          light[Int(values[index].littleEndian >> 4)],
          light[Int(values[index + 1].littleEndian >> 4)],
          light[Int(values[index + 2].littleEndian >> 4)])
        out.initializeElement(at: index, to: Self.encoded(red))
        out.initializeElement(at: index + 1, to: Self.encoded(green))
        out.initializeElement(at: index + 2, to: Self.encoded(blue))
        index += 3
      }
      count = index
    }
  }

  /// Light as parts of white, with sRGB's primaries.
  private func displayed(_ red: Float, _ green: Float, _ blue: Float) -> (Float, Float, Float) {
    var (red, green, blue) = (red, green, blue)
    if transfer != .sdr {
      var factor: Float = 1
      if transfer == .hlg {
        // The display's part of HLG: brightness is raised to the power of 1.2.
        let luminance = 0.2627 * red + 0.678 * green + 0.0593 * blue
        factor = luminance > 0 ? Self.hlgPeak * powf(luminance, 0.2) : 0
      }
      let brightest = max(red, green, blue) * factor
      let step = min((brightest / peak).squareRoot(), 1) * Float(gain.count - 1)
      // Beyond the peak, all is as bright as white.
      factor *=
        brightest > peak ? Self.white / brightest : gain[Int(step.rounded())]
      factor /= Self.white
      (red, green, blue) = (red * factor, green * factor, blue * factor)
    }
    guard let matrix else { return (red, green, blue) }
    return (
      matrix[0] * red + matrix[1] * green + matrix[2] * blue,
      matrix[3] * red + matrix[4] * green + matrix[5] * blue,
      matrix[6] * red + matrix[7] * green + matrix[8] * blue
    )
  }

  // MARK: - Tone mapping

  /// The factors by which the spline of BT.2390 changes light from 0 to `peak`.
  private static func gains(peak: Float) -> [Float] {
    let most = valueOfPQ(peak)
    let target = valueOfPQ(white) / most
    let knee = 1.5 * target - 0.5
    return (0..<steps).map { step in
      let root = Float(step) / Float(steps - 1)
      let light = root * root * peak
      let value = valueOfPQ(light) / most
      guard light > 0, value > knee else { return 1 }
      let part = (value - knee) / (1 - knee)
      let (square, cube) = (part * part, part * part * part)
      let mapped =
        (2 * cube - 3 * square + 1) * knee + (cube - 2 * square + part) * (1 - knee)
        + (3 * square - 2 * cube) * target
      return lightOfPQ(mapped * most) / light
    }
  }

  /// The light in cd/m² that the film was made for, if it says so believably.
  private static func masteringPeak(_ frame: VideoFrame) -> Float? {
    guard
      let side = av_frame_get_side_data(
        frame.pointer, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA),
      let data = side.pointee.data,
      side.pointee.size >= MemoryLayout<AVMasteringDisplayMetadata>.size
    else { return nil }
    let display = UnsafeRawPointer(data).loadUnaligned(as: AVMasteringDisplayMetadata.self)
    guard display.has_luminance != 0, display.max_luminance.den != 0 else { return nil }
    let peak = Float(display.max_luminance.num) / Float(display.max_luminance.den)
    return (400...10_000).contains(peak) ? peak : nil
  }

  // MARK: - Curves

  /// PQ: a value from 0 to 1 as cd/m².
  private static func lightOfPQ(_ value: Float) -> Float {
    let root = powf(max(value, 0), 1 / 78.84375)
    let part = max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)
    return 10_000 * powf(part, 1 / 0.1593017578125)
  }

  /// PQ: light in cd/m² as a value from 0 to 1.
  private static func valueOfPQ(_ light: Float) -> Float {
    let root = powf(max(light, 0) / 10_000, 0.1593017578125)
    return powf((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root), 78.84375)
  }

  /// HLG: a value from 0 to 1 as light of the scene from 0 to 1.
  private static func sceneOfHLG(_ value: Float) -> Float {
    if value <= 0.5 { return value * value / 3 }
    return (expf((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
  }

  private static func lightOfSRGB(_ value: Float) -> Float {
    value <= 0.04045 ? value / 12.92 : powf((value + 0.055) / 1.055, 2.4)
  }

  /// sRGB by the root of light, which spreads dark values.
  private static let encoding: [UInt8] = (0..<steps).map { step in
    let root = Float(step) / Float(steps - 1)
    let light = root * root
    let value = light <= 0.0031308 ? light * 12.92 : 1.055 * powf(light, 1 / 2.4) - 0.055
    return UInt8((min(max(value, 0), 1) * 255).rounded())
  }

  private static func encoded(_ light: Float) -> UInt8 {
    guard light > 0 else { return 0 }
    return encoding[Int((min(light.squareRoot(), 1) * Float(steps - 1)).rounded())]
  }

  /// From the primaries of BT.2020 to those of sRGB.
  private static let fromBT2020: [Float] = [
    1.6605, -0.5876, -0.0728, -0.1246, 1.1329, -0.0083, -0.0182, -0.1006, 1.1187,
  ]

  /// From the primaries of Display P3 to those of sRGB; source: SMPTE EG 432-1, both with D65.
  private static let fromP3: [Float] = [
    1.2249, -0.2247, 0, -0.0420, 1.0419, 0, -0.0197, -0.0786, 1.0979,
  ]
}
