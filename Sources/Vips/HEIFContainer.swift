/// What the container of a HEIC or AVIF picture says of turning its primary picture.
///
/// libheif applies a container's own `irot` and `imir`; EXIF's orientation
/// is then only a copy of them. Where the container has neither, EXIF's is all
/// there is, and libheif leaves it alone (libvips#4143).
/// Source: ISO/IEC 23008-12, section 6.5; ISO/IEC 14496-12, section 8.11.
package struct HEIFContainer: Hashable, Sendable {
  /// Whether the primary picture has an `irot` or `imir` property.
  package private(set) var turnsPicture = false
  /// Bits of a channel, from the `pixi` property of the primary picture.
  package private(set) var bitDepth: Int?

  private struct Box {
    var type: String
    var content: Range<Int>
  }

  /// Reads the boxes at the beginning of a file, or returns `nil` if there is no `meta` box.
  ///
  /// - Parameter bytes: the file up to the end of its `meta` box at least.
  package init?(_ bytes: [UInt8]) {
    let top = Self.boxes(bytes, in: 0..<bytes.count)
    guard let meta = top.first(where: { $0.type == "meta" }), meta.content.count > 4 else {
      return nil
    }
    let inner = Self.boxes(bytes, in: (meta.content.lowerBound + 4)..<meta.content.upperBound)
    guard let properties = inner.first(where: { $0.type == "iprp" }),
      let primary = inner.first(where: { $0.type == "pitm" })
    else { return nil }
    let version = Self.number(bytes, primary.content.lowerBound, 1) ?? 0
    guard
      let item = Self.number(bytes, primary.content.lowerBound + 4, version == 0 ? 2 : 4)
    else { return nil }
    let parts = Self.boxes(bytes, in: properties.content)
    guard let container = parts.first(where: { $0.type == "ipco" }) else { return nil }
    let all = Self.boxes(bytes, in: container.content)
    for association in parts where association.type == "ipma" {
      for index in Self.associations(bytes, association.content, of: item)
      where index >= 1 && index <= all.count {
        let property = all[index - 1]
        if property.type == "irot" || property.type == "imir" { turnsPicture = true }
        if property.type == "pixi" {
          bitDepth = Self.number(bytes, property.content.lowerBound + 5, 1)
        }
      }
    }
  }

  private static func associations(
    _ bytes: [UInt8], _ content: Range<Int>, of item: Int
  ) -> [Int] {
    guard let version = number(bytes, content.lowerBound, 1),
      let flags = number(bytes, content.lowerBound + 1, 3),
      let entries = number(bytes, content.lowerBound + 4, 4)
    else { return [] }
    let idSize = version < 1 ? 2 : 4
    let indexSize = flags & 1 == 1 ? 2 : 1
    var at = content.lowerBound + 8
    for _ in 0..<min(entries, 10_000) {
      guard let id = number(bytes, at, idSize), let count = number(bytes, at + idSize, 1),
        at + idSize + 1 + count * indexSize <= content.upperBound
      else { return [] }
      at += idSize + 1
      if id == item {
        let mask = indexSize == 2 ? 0x7FFF : 0x7F
        return (0..<count).compactMap { number(bytes, at + $0 * indexSize, indexSize) }
          .map { $0 & mask }
      }
      at += count * indexSize
    }
    return []
  }

  private static func boxes(_ bytes: [UInt8], in range: Range<Int>) -> [Box] {
    var boxes: [Box] = []
    var at = range.lowerBound
    while at + 8 <= range.upperBound, boxes.count < 4096 {
      guard var size = number(bytes, at, 4) else { break }
      var header = 8
      if size == 1 {
        // Seven bytes are enough for any file; the eighth would overflow.
        guard number(bytes, at + 8, 1) == 0, let large = number(bytes, at + 9, 7) else { break }
        size = large
        header = 16
      } else if size == 0 {
        size = range.upperBound - at
      }
      guard size >= header, size <= range.upperBound - at else { break }
      boxes.append(
        Box(
          type: String(decoding: bytes[(at + 4)..<(at + 8)], as: UTF8.self),
          content: (at + header)..<(at + size)))
      at += size
    }
    return boxes
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int? {
    guard offset >= 0, offset + size <= bytes.count else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }
}
