internal import Glibc

/// An ICC profile's header, and the tags that identify its colour space.
///
/// Source: ICC.1:2022, sections 7 and 9.
package struct ColorProfile: Hashable, Sendable {
  /// Colour spaces that are recognised by their values, whatever the profile is called.
  package enum Known: String, Hashable, Sendable {
    case srgb
    case p3
    case adobeRGB = "adobe-rgb"
  }

  /// The four letters of the colour space: `RGB `, `CMYK`, `GRAY`.
  package let space: String
  /// The profile's description.
  package let name: String?
  /// The colour space, if it matches a known one within 8-bit precision.
  package let known: Known?
  /// Whether it has a lookup table for the perceptual intent, but none for the relative colorimetric
  /// one.
  package let lacksRelativeTable: Bool

  /// Whether all of its colours lie in a plane, or nearly so, which makes pictures garbage.
  package let isFlat: Bool

  /// Parses a profile; returns `nil` if the bytes are not one.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count >= 132, bytes[36..<40].elementsEqual("acsp".utf8) else { return nil }
    let space = String(decoding: bytes[16..<20], as: UTF8.self)
    self.space = space
    let table = Table(bytes)
    name = table.name
    known = space == "RGB " ? table.knownSpace : nil
    lacksRelativeTable = table.lacksRelativeTable
    isFlat = space == "RGB " && table.isFlat
  }

  /// Whether pictures of so many channels can have it.
  package func fits(channels: Int) -> Bool {
    switch space {
    case "RGB ": channels >= 3 && !isFlat
    case "GRAY": channels <= 2
    default: false
    }
  }
}

/// The tags of a profile; every offset is checked.
private struct Table {
  let bytes: [UInt8]
  private var tags: [String: Range<Int>] = [:]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let count = min(integer(at: 128, size: 4) ?? 0, 200)
    for index in 0..<count {
      let at = 132 + index * 12
      guard at + 12 <= bytes.count, let offset = integer(at: at + 4, size: 4),
        let size = integer(at: at + 8, size: 4), offset + size <= bytes.count
      else { continue }
      tags[String(decoding: bytes[at..<(at + 4)], as: UTF8.self)] = offset..<(offset + size)
    }
  }

  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, offset + size <= bytes.count else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  private func fixed(at offset: Int) -> Double? {
    integer(at: offset, size: 4).map { Double(Int32(truncatingIfNeeded: $0)) / 65536 }
  }

  var name: String? {
    guard let tag = tags["desc"], let type = integer(at: tag.lowerBound, size: 4) else {
      return nil
    }
    let text: String
    if type == 0x6465_7363 {  // desc
      guard let length = integer(at: tag.lowerBound + 8, size: 4) else { return nil }
      let from = tag.lowerBound + 12
      let end = min(from + length, tag.upperBound)
      guard from < end else { return nil }
      text = String(decoding: bytes[from..<end].prefix { $0 != 0 }, as: UTF8.self)
    } else {  // mluc
      guard let length = integer(at: tag.lowerBound + 20, size: 4),
        let offset = integer(at: tag.lowerBound + 24, size: 4)
      else { return nil }
      let from = tag.lowerBound + offset
      let end = min(from + min(length, 512), tag.upperBound)
      guard from < end else { return nil }
      let units = stride(from: from, to: end - 1, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      text = String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
    }
    let clean = String(
      text.unicodeScalars.filter { $0.value >= 32 }.prefix(120).map(Character.init))
    return clean.isEmpty ? nil : clean
  }

  var lacksRelativeTable: Bool { tags["A2B0"] != nil && tags["A2B1"] == nil }

  /// Colorants of known spaces, adapted to D50, and whether their curve is sRGB's or gamma 2.2.
  private static let spaces: [(known: ColorProfile.Known, colorants: [Double], gammaIsSRGB: Bool)] =
    [
      (.srgb, [0.4361, 0.2225, 0.0139, 0.3851, 0.7169, 0.0971, 0.1431, 0.0606, 0.7139], true),
      (.p3, [0.5151, 0.2412, -0.0011, 0.2920, 0.6922, 0.0419, 0.1571, 0.0666, 0.7841], true),
      (.adobeRGB, [0.6097, 0.3111, 0.0195, 0.2053, 0.6257, 0.0609, 0.1492, 0.0632, 0.7446], false),
    ]

  /// The three values of each colorant; `nil` if others define the profile.
  private var colorants: [Double]? {
    // Colorants don't define a profile that has lookup tables.
    guard tags["A2B0"] == nil else { return nil }
    var colorants: [Double] = []
    for tag in ["rXYZ", "gXYZ", "bXYZ"] {
      guard let range = tags[tag], range.count >= 20 else { return nil }
      for index in 0..<3 {
        guard let value = fixed(at: range.lowerBound + 8 + index * 4) else { return nil }
        colorants.append(value)
      }
    }
    return colorants
  }

  var isFlat: Bool {
    guard let c = colorants else { return false }
    let volume =
      c[0] * (c[4] * c[8] - c[5] * c[7]) - c[1] * (c[3] * c[8] - c[5] * c[6])
      + c[2] * (c[3] * c[7] - c[4] * c[6])
    // That of sRGB is 0.15.
    return abs(volume) < 0.001
  }

  var knownSpace: ColorProfile.Known? {
    guard let colorants else { return nil }
    return Self.spaces.first { space in
      zip(space.colorants, colorants).allSatisfy { abs($0 - $1) < 0.003 }
        && ["rTRC", "gTRC", "bTRC"].allSatisfy { isCurve($0, sRGB: space.gammaIsSRGB) }
    }?.known
  }

  /// Whether a curve deviates by less than half an 8-bit step.
  private func isCurve(_ tag: String, sRGB: Bool) -> Bool {
    [0.1, 0.25, 0.5, 0.75, 0.9].allSatisfy { input in
      guard let value = curve(tag, at: input) else { return false }
      let expected =
        sRGB ? pow((input + 0.055) / 1.055, 2.4) : pow(input, 2.19921875)
      return abs(value - expected) < 0.004
    }
  }

  private func curve(_ tag: String, at input: Double) -> Double? {
    guard let range = tags[tag], let type = integer(at: range.lowerBound, size: 4) else {
      return nil
    }
    let start = range.lowerBound
    if type == 0x6375_7276 {  // curv
      guard let count = integer(at: start + 8, size: 4) else { return nil }
      if count == 0 { return input }
      if count == 1 {
        return integer(at: start + 12, size: 2).map { pow(input, Double($0) / 256) }
      }
      let position = input * Double(count - 1)
      let index = Int(position)
      guard let low = integer(at: start + 12 + index * 2, size: 2),
        let high = integer(at: start + 14 + index * 2, size: 2)
      else { return nil }
      let share = position - Double(index)
      return (Double(low) * (1 - share) + Double(high) * share) / 65535
    }
    guard type == 0x7061_7261, let kind = integer(at: start + 8, size: 2),  // para
      let gamma = fixed(at: start + 12)
    else { return nil }
    if kind == 0 { return pow(input, gamma) }
    guard kind == 3, let a = fixed(at: start + 16), let b = fixed(at: start + 20),
      let c = fixed(at: start + 24), let d = fixed(at: start + 28)
    else { return nil }
    return input >= d ? pow(a * input + b, gamma) : c * input
  }
}
