/// What a JPEG 2000 file says about its values, as far as libvips doesn't tell.
///
/// Source: ISO/IEC 15444-1, annexes A.5.1 and I.5.3.
package struct JPEG2000Structure {
  /// The codestream's bytes in the file.
  package let codestream: Range<Int>
  /// Bits of a value of the first component.
  package let bits: Int
  /// Whether a codestream without a container, which would name its colour space, has three
  /// components, of which the second and third have half the width.
  package let isBareYCC: Bool
  /// Whether the values of the codestream are indices of colours.
  package let hasPalette: Bool
  /// Whether its boxes are so unusual that a decoder may find a palette where none is found here.
  package let isUnclear: Bool
  /// The palette, if it has up to 256 colours of 1 to 4 values for a single component.
  package let palette: Palette?

  package struct Palette: Sendable {
    /// The values of each colour, in 8 bits.
    package let colors: [[UInt8]]
  }

  /// How far a codestream may begin from the start of the file.
  private static let longestHeader = 16 << 20

  /// Parses a file, or a codestream without a container; `nil` if that can't be one.
  package init?(_ reader: ByteReader) {
    let isBare = reader.number(at: 0, 2) == 0xFF4F
    let boxes = isBare ? [] : reader.boxes()
    let header = boxes.first { $0.type == "jp2h" }?.content
    let table = header.flatMap { reader.box("pclr", in: $0) }
    hasPalette = table != nil
    let content = isBare ? 0..<reader.size : boxes.first { $0.type == "jp2c" }?.content
    codestream = content ?? 0..<0
    let components = Self.components(reader, at: codestream.lowerBound)
    guard !isBare || components != nil else { return nil }
    // OpenJPEG also takes a palette that is not in the header, or in a second one.
    let palettes = isBare ? 0 : content.flatMap { Self.palettes(reader, before: $0.lowerBound) }
    isUnclear = palettes != (table == nil ? 0 : 1)
    let sizes = components ?? []
    // The highest bit is the sign's.
    bits = Int((sizes.first ?? 7) & 0x7F) + 1
    // libvips converts what has half the height, too.
    isBareYCC =
      isBare && sizes.count == 9 && [1, 1, 2, 1, 2, 1] == [1, 2, 4, 5, 7, 8].map { sizes[$0] }
    palette =
      if let header, let table, sizes.count == 3, bits <= 8 {
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

  /// Three bytes for each component, which have the bits of its values and the distances between them.
  private static func components(_ reader: ByteReader, at start: Int) -> [UInt8]? {
    // The marker SIZ follows the marker SOC.
    guard reader.number(at: start, 4) == 0xFF4F_FF51,
      let count = reader.number(at: start + 40, 2), count > 0
    else { return nil }
    return reader.bytes((start + 42)..<(start + 42 + 3 * count))
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
