/// What a JPEG 2000 file says about its values, as far as libvips doesn't tell.
///
/// Source: ISO/IEC 15444-1, annexes A.5.1 and I.5.3.
package struct JPEG2000Structure {
  /// The codestream's bytes in the file.
  package let codestream: Range<Int>
  /// The components of the codestream; empty if they can't be read.
  package let components: [Component]
  /// What its values are in; `nil` if nothing says so.
  package let colors: Colors?
  /// Whether components are other colours than usual, an alpha comes before a colour, or has multiplied them.
  ///
  /// Source: ISO/IEC 15444-1, annex I.5.3.6.
  package let hasUnusualChannels: Bool
  /// Whether the values of the codestream are indices of colours.
  package let hasPalette: Bool
  /// Whether its boxes are so unusual that a decoder may find a palette where none is found here.
  package let isUnclear: Bool
  /// The palette, if it has up to 256 colours of 1 to 4 values for a single component.
  package let palette: Palette?

  /// Whether there may be a palette anywhere before the codestream.
  package let mayHavePalette: Bool

  package struct Component: Hashable, Sendable {
    /// Bits of a value, with the sign.
    package let bits: Int
    package let isSigned: Bool
    /// The horizontal and vertical distance between values, in units of the picture's grid.
    package let dx: Int
    package let dy: Int
  }

  /// Source: ISO/IEC 15444-1, annex I.5.3.3; ISO/IEC 15444-2, annex M.11.7.3.
  package enum Colors: Hashable, Sendable {
    case enumerated(Int)
    /// CIELab, coded as the standard says or as the file does.
    case lab(LabCoding?)
    /// By an ICC profile.
    case profile([UInt8])

    package static let ycc709 = 1
    package static let ycc601 = 4
    package static let cmyk = 12
    fileprivate static let lab = 14
    package static let grey = 17
    /// Luminance and chroma that use the whole range.
    package static let ycc: Set = [3, 18, 24]

    fileprivate static let foreign = ycc.union([ycc709, ycc601, cmyk])
  }

  /// For lightness and two opponent colours: how much the values differ from the least stored number to the
  /// greatest, and the stored number of 0. Source: ISO/IEC 15444-2, annex M.11.7.4.1.
  package struct LabCoding: Hashable, Sendable {
    package let ranges: [Int]
    package let zeros: [Int]

    package init(ranges: [Int], zeros: [Int]) {
      self.ranges = ranges
      self.zeros = zeros
    }
  }

  package struct Palette: Sendable {
    /// The values of each colour, in 8 bits.
    package let colors: [[UInt8]]
  }

  /// How far a codestream may begin from the start of the file.
  private static let longestHeader = 16 << 20

  /// The most bytes of a profile.
  private static let longestProfile = 4 << 20

  /// Parses a file, or a codestream without a container; `nil` if that can't be one.
  package init?(_ reader: ByteReader) {
    let isBare = reader.number(at: 0, 2) == 0xFF4F
    let boxes = isBare ? [] : reader.boxes()
    let header = boxes.first { $0.type == "jp2h" }?.content
    let table = header.flatMap { reader.box("pclr", in: $0) }
    hasPalette = table != nil
    hasUnusualChannels = header.map { Self.hasUnusualChannels(reader, in: $0) } ?? false
    let content = isBare ? 0..<reader.size : boxes.first { $0.type == "jp2c" }?.content
    codestream = content ?? 0..<0
    components = Self.components(reader, at: codestream.lowerBound)
    guard !isBare || !components.isEmpty else { return nil }
    colors = header.flatMap { Self.colors(reader, in: $0) }
    // OpenJPEG also takes a palette that is not in the header, or in a second one.
    let palettes = isBare ? 0 : content.flatMap { Self.palettes(reader, before: $0.lowerBound) }
    isUnclear = palettes != (table == nil ? 0 : 1)
    mayHavePalette = palettes != 0
    palette =
      if let header, let table, components.count == 1, components[0].bits <= 8 {
        Palette(reader, table.content, columns: Self.columns(reader, in: header))
      } else {
        nil
      }
  }

  /// How often the name of a palette's box stands before the codestream; `nil` if that is too far.
  private static func palettes(_ reader: ByteReader, before end: Int) -> Int? {
    guard end <= longestHeader else { return nil }
    let name = Array("pclr".utf8)
    var count = 0
    for start in stride(from: 0, to: end, by: 1 << 16) {
      // With the first bytes of the next part, in which a name may end.
      guard let part = reader.bytes(start..<min(start + 1 << 16 + name.count - 1, end)) else {
        return nil
      }
      for index in part.indices where part[index] == name[0] {
        if part[index...].starts(with: name) { count += 1 }
      }
    }
    return count
  }

  private static func components(_ reader: ByteReader, at start: Int) -> [Component] {
    // The marker SIZ follows the marker SOC.
    guard reader.number(at: start, 4) == 0xFF4F_FF51,
      let count = reader.number(at: start + 40, 2),
      let bytes = reader.bytes((start + 42)..<(start + 42 + 3 * count))
    else { return [] }
    return (0..<count).map { index -> Component in
      let (depth, dx, dy) = (bytes[3 * index], bytes[3 * index + 1], bytes[3 * index + 2])
      return Component(
        bits: Int(depth & 0x7F) + 1, isSigned: depth & 0x80 != 0, dx: Int(dx), dy: Int(dy))
    }
  }

  private static func hasUnusualChannels(_ reader: ByteReader, in header: Range<Int>) -> Bool {
    guard let box = reader.box("cdef", in: header), box.content.count <= longestDefinition,
      let bytes = reader.bytes(box.content)
    else { return false }
    return stride(from: 2, to: bytes.count - 5, by: 6).contains { at in
      let parts = [0, 2, 4].map { bytes[(at + $0)..<(at + $0 + 2)].number() }
      let (channel, purpose, color) = (parts[0], parts[1], parts[2])
      // For the whole picture, or for no colour.
      return purpose == 2 || purpose == 0 && ![0, 0xFFFF].contains(color) && color != channel + 1
    }
  }

  /// The most bytes of what all channels mean.
  private static let longestDefinition = 2 + 6 * 1024

  /// What the first box says that a reader understands.
  private static func colors(_ reader: ByteReader, in header: Range<Int>) -> Colors? {
    for box in reader.boxes(in: header) where box.type == "colr" {
      let start = box.content.lowerBound
      guard box.content.count > 3, let method = reader.number(at: start, 1) else { continue }
      let profile = (start + 3)..<box.content.upperBound
      switch method {
      case 1:
        if profile.count >= 4, let number = reader.number(at: profile.lowerBound, 4) {
          guard number == Colors.lab else { return .enumerated(number) }
          let coding = reader.bytes((profile.lowerBound + 4)..<(profile.lowerBound + 28))
          return .lab(profile.count < 28 ? nil : coding.map { LabCoding($0) })
        }
      // A restricted profile, and any in JPX.
      case 2, 3:
        if profile.count <= longestProfile, let bytes = reader.bytes(profile) {
          return .profile(bytes)
        }
      default: break
      }
    }
    return nil
  }

  /// Which columns of the palette are the channels; `nil` if another component, or none, is mapped.
  private static func columns(_ reader: ByteReader, in header: Range<Int>) -> [Int]? {
    guard let map = reader.box("cmap", in: header), map.content.count <= 16,
      let bytes = reader.bytes(map.content)
    else { return nil }
    let entries = stride(from: 0, to: bytes.count - 3, by: 4).map { Array(bytes[$0..<($0 + 4)]) }
    guard entries.allSatisfy({ $0.starts(with: [0, 0, 1]) }) else { return nil }
    return entries.map { Int($0[3]) }
  }
}

extension JPEG2000Structure {
  /// Whether libvips 8.14 does not read the file, or shows it wrongly.
  ///
  /// It wants components of the same precision, each with a value for each pixel: of others it shows
  /// some, but not all sizes of each. It knows no palettes, which are read here if they are simple, with
  /// OpenJPEG 2.5 no colour spaces, and lets OpenJPEG exchange components anew for each part that it decodes.
  package var isBeyondLibvips: Bool {
    if isUnclear || hasUnusualChannels || hasPalette && palette == nil { return true }
    switch colors {
    case .enumerated(let number) where Colors.foreign.contains(number): return true
    case .lab: return true
    case .profile(let profile) where profile.dropFirst(16).starts(with: "CMYK".utf8): return true
    default: break
    }
    return components.contains { $0 != components[0] || $0.dx != 1 || $0.dy != 1 }
  }

  /// The ICC profile of its values.
  package var profile: [UInt8]? {
    if case .profile(let profile) = colors { profile } else { nil }
  }

  /// Whether bytes are of such a file.
  package static func isBeyondLibvips(_ reader: ByteReader) -> Bool {
    JPEG2000Structure(reader)?.isBeyondLibvips ?? false
  }
}

extension JPEG2000Structure.LabCoding {
  /// Parses pairs of a range and the number of 0.
  fileprivate init(_ bytes: [UInt8]) {
    let numbers = stride(from: 0, to: 24, by: 4).map { bytes[$0..<($0 + 4)].number() }
    self.init(ranges: [0, 2, 4].map { numbers[$0] }, zeros: [1, 3, 5].map { numbers[$0] })
  }
}

extension JPEG2000Structure.Palette {
  fileprivate init?(_ reader: ByteReader, _ content: Range<Int>, columns: [Int]?) {
    guard let columns, !columns.isEmpty, let bytes = reader.bytes(content), bytes.count > 3
    else { return nil }
    let count = bytes[..<2].number()
    let depths = bytes[3...].prefix(Int(bytes[2])).map { Int($0) + 1 }
    let widths = depths.map { ($0 + 7) / 8 }
    let start = 3 + depths.count
    let length = widths.reduce(0, +)
    guard (1...256).contains(count), depths.allSatisfy({ $0 <= 16 }),
      columns.allSatisfy(depths.indices.contains), bytes.count >= start + count * length
    else { return nil }
    colors = (0..<count).map { index in
      columns.map { column in
        let at = start + index * length + widths[..<column].reduce(0, +)
        let value = bytes[at..<(at + widths[column])].number()
        return UInt8(min(255, value * 255 / (1 << depths[column] - 1)))
      }
    }
  }
}
