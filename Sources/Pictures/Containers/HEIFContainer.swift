/// Properties and metadata of the primary picture in a HEIC or AVIF container.
///
/// libheif applies the container's `irot` and `imir`; the EXIF orientation then
/// only repeats them. If the container has neither, only the EXIF orientation
/// remains, which libheif ignores (libvips#4143).
/// Source: ISO/IEC 23008-12, section 6.5; ISO/IEC 14496-12, section 8.11.
package struct HEIFContainer: Hashable, Sendable {
  /// Whether the primary picture has an `irot` or `imir` property.
  package private(set) var turnsPicture = false
  /// Bits per channel, from the `pixi` property of the primary picture.
  package private(set) var bitDepth: Int?
  /// The EXIF block, without the prefix before its header.
  package private(set) var exif: [UInt8]?
  package private(set) var xmp: [UInt8]?
  /// Whether there are thumbnails, and all of them are turned and mirrored as the picture is.
  package private(set) var hasTurnedThumbnails = false

  /// The maximum number of items, of bytes per item, of thumbnails, and of pictures that share one.
  private static let limits = (
    items: 10_000, bytes: 16 << 20, thumbnails: 4, thumbnailReferences: 16
  )

  /// Reads the `meta` box anywhere in the file, or returns `nil` if there is none.
  package init?(_ reader: ByteReader) {
    guard let meta = reader.boxes().first(where: { $0.type == "meta" }), meta.content.count > 4
    else { return nil }
    let inner = reader.boxes(in: (meta.content.lowerBound + 4)..<meta.content.upperBound)
    guard let primary = inner.first(where: { $0.type == "pitm" }),
      let version = reader.number(at: primary.content.lowerBound, 1),
      let item = reader.number(at: primary.content.lowerBound + 4, version == 0 ? 2 : 4)
    else { return nil }
    if let properties = inner.first(where: { $0.type == "iprp" }) {
      let parts = reader.boxes(in: properties.content)
      readProperties(of: item, in: parts, reader)
      let thumbnails = inner.first { $0.type == "iref" }
        .map { Self.thumbnails(of: item, reader, $0.content) }
      if let thumbnails, !thumbnails.isEmpty {
        let turns = Self.turns(of: item, in: parts, reader)
        // A decoder may take any of them.
        hasTurnedThumbnails =
          thumbnails.count <= Self.limits.thumbnails
          && thumbnails.allSatisfy { Self.turns(of: $0, in: parts, reader) == turns }
      }
    }
    readMetadata(inner, reader)
  }

  // MARK: - Properties

  private mutating func readProperties(of item: Int, in parts: [Box], _ reader: ByteReader) {
    for property in Self.properties(of: item, in: parts, reader) {
      if Self.turning.contains(property.type) { turnsPicture = true }
      if property.type == "pixi" {
        bitDepth = reader.number(at: property.content.lowerBound + 5, 1)
      }
    }
  }

  private static let turning = ["irot", "imir"]

  /// The properties of an item that turn and mirror it, in order, with their contents.
  private static func turns(of item: Int, in parts: [Box], _ reader: ByteReader) -> [[UInt8]] {
    properties(of: item, in: parts, reader).filter { turning.contains($0.type) }.map { box in
      Array(box.type.utf8) + (reader.bytes(box.content.prefix(16)) ?? [])
    }
  }

  private static func properties(
    of item: Int, in parts: [Box], _ reader: ByteReader
  ) -> [Box] {
    guard let container = parts.first(where: { $0.type == "ipco" }) else { return [] }
    let all = reader.boxes(in: container.content)
    return parts.filter { $0.type == "ipma" }.flatMap { box in
      associations(reader, box.content, of: item)
        .compactMap { (1...max(1, all.count)).contains($0) && !all.isEmpty ? all[$0 - 1] : nil }
    }
  }

  /// The items that are thumbnails of another one.
  ///
  /// Source: ISO/IEC 14496-12, section 8.11.12.
  private static func thumbnails(
    of item: Int, _ reader: ByteReader, _ content: Range<Int>
  ) -> [Int] {
    guard content.count > 4, let version = reader.number(at: content.lowerBound, 1) else {
      return []
    }
    let size = version == 0 ? 2 : 4
    let references = reader.boxes(in: (content.lowerBound + 4)..<content.upperBound)
    return references.filter { $0.type == "thmb" }.compactMap { box in
      let start = box.content.lowerBound
      guard let from = reader.number(at: start, size),
        let count = reader.number(at: start + size, 2),
        (0..<min(count, limits.thumbnailReferences)).contains(where: {
          reader.number(at: start + size + 2 + $0 * size, size) == item
        })
      else { return nil }
      return from
    }.prefix(limits.thumbnails + 1).map(\.self)
  }

  /// Whether the boxes of a file lead to its end, and the last one says where it ends.
  package static func isWhole(_ reader: ByteReader) -> Bool {
    let boxes = reader.boxes()
    guard let last = boxes.last, last.content.upperBound == reader.size else { return false }
    let start = boxes.dropLast().last?.content.upperBound ?? 0
    return reader.number(at: start, 4) != 0
  }

  /// The numbers of an item's properties, in order, beginning with 1.
  private static func associations(
    _ reader: ByteReader, _ content: Range<Int>, of item: Int
  ) -> [Int] {
    guard let entry = entries(reader, content).first(where: { $0.item == item }) else { return [] }
    let mask = entry.size == 2 ? 0x7FFF : 0x7F
    return (0..<entry.count).compactMap { index in
      reader.number(at: entry.offset + index * entry.size, entry.size).map { $0 & mask }
    }
  }

  /// Where the properties of an item are listed.
  struct AssociationEntry {
    let item: Int
    let offset: Int
    let count: Int
    /// The bytes of each number.
    let size: Int
  }

  /// The entries of an `ipma` box, up to one that does not fit in.
  static func entries(_ reader: ByteReader, _ content: Range<Int>) -> [AssociationEntry] {
    guard let version = reader.number(at: content.lowerBound, 1),
      let flags = reader.number(at: content.lowerBound + 1, 3),
      let total = reader.number(at: content.lowerBound + 4, 4)
    else { return [] }
    let idSize = version < 1 ? 2 : 4
    let size = flags & 1 == 1 ? 2 : 1
    var at = content.lowerBound + 8
    var entries: [AssociationEntry] = []
    for _ in 0..<min(total, limits.items) {
      guard let item = reader.number(at: at, idSize),
        let count = reader.number(at: at + idSize, 1),
        at + idSize + 1 + count * size <= content.upperBound
      else { break }
      at += idSize + 1
      entries.append(AssociationEntry(item: item, offset: at, count: count, size: size))
      at += count * size
    }
    return entries
  }

  // MARK: - Metadata

  private mutating func readMetadata(_ boxes: [Box], _ reader: ByteReader) {
    guard let information = boxes.first(where: { $0.type == "iinf" }),
      let locations = boxes.first(where: { $0.type == "iloc" })
    else { return }
    let data = boxes.first { $0.type == "idat" }?.content
    func content(_ item: Int) -> [UInt8]? {
      Self.content(of: item, reader, locations.content, data: data)
    }
    let items = Self.items(reader, information.content).filter { $0.type == "Exif" || $0.isXMP }
    // Bounded, because each lookup searches a list whose length the file determines.
    for item in items.prefix(16) {
      // An EXIF item begins with the offset of the header after these four bytes.
      if item.type == "Exif", exif == nil, let bytes = content(item.id), bytes.count > 12 {
        let start = 4 + bytes[..<4].number()
        if start < bytes.count { exif = Array(bytes[start...]) }
      } else if item.type == "mime", item.isXMP, xmp == nil {
        xmp = content(item.id)
      }
    }
  }

  private static func items(
    _ reader: ByteReader, _ content: Range<Int>
  ) -> [(id: Int, type: String, isXMP: Bool)] {
    guard let version = reader.number(at: content.lowerBound, 1) else { return [] }
    let start = content.lowerBound + (version == 0 ? 6 : 8)
    guard start <= content.upperBound else { return [] }
    return reader.boxes(in: start..<content.upperBound).compactMap { box in
      guard box.type == "infe", let version = reader.number(at: box.content.lowerBound, 1),
        version >= 2
      else { return nil }
      let at = box.content.lowerBound + 4
      let idSize = version == 2 ? 2 : 4
      guard let id = reader.number(at: at, idSize), let type = reader.code(at: at + idSize + 2)
      else { return nil }
      let start = at + idSize + 6
      let names = reader.bytes(start..<max(start, min(start + 256, box.content.upperBound)))
      let isXMP = names.map { String(latin1: $0).contains("application/rdf+xml") } ?? false
      return (id, type, isXMP)
    }
  }

  /// The concatenated bytes of an item.
  private static func content(
    of item: Int, _ reader: ByteReader, _ content: Range<Int>, data: Range<Int>?
  ) -> [UInt8]? {
    var at = content.lowerBound
    func next(_ size: Int) -> Int? {
      guard at + size <= content.upperBound else { return nil }
      defer { at += size }
      return size == 0 ? 0 : reader.number(at: at + max(0, size - 7), min(size, 7))
    }
    guard let version = next(1), next(3) != nil, let sizes = next(2) else { return nil }
    let (offsetSize, lengthSize) = (sizes >> 12, sizes >> 8 & 15)
    let (baseSize, indexSize) = (sizes >> 4 & 15, version == 0 ? 0 : sizes & 15)
    guard let count = next(version < 2 ? 2 : 4) else { return nil }
    for _ in 0..<min(count, limits.items) {
      guard let id = next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : next(2),
        next(2) != nil, let base = next(baseSize), let extents = next(2)
      else { return nil }
      guard id == item else {
        at += extents * (indexSize + offsetSize + lengthSize)
        continue
      }
      var bytes: [UInt8] = []
      for _ in 0..<extents {
        guard next(indexSize) != nil, let offset = next(offsetSize), let length = next(lengthSize),
          method & 15 < 2, bytes.count + length <= limits.bytes
        else { return nil }
        // Offsets of method 0 are relative to the file, those of method 1 to `idat`.
        guard let origin = method & 15 == 0 ? 0 : data?.lowerBound,
          let start = origin.adding(base)?.adding(offset), let end = start.adding(length),
          let part = reader.bytes(start..<end)
        else { return nil }
        bytes += part
      }
      return bytes
    }
    return nil
  }
}

extension Int {
  /// The sum, or `nil` on overflow.
  func adding(_ other: Int) -> Int? {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? nil : sum
  }
}
