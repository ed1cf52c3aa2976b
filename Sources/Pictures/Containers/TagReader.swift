/// A reader of TIFF directories, as in EXIF blocks and many raw files.
///
/// Also reads BigTIFF, with counts and offsets of eight bytes. Checks every offset
/// against the readable range, and follows no structure twice.
/// Source: TIFF 6.0, section 2; EXIF 2.32, section 4.6; libtiff's page on BigTIFF.
package struct TagReader {
  package struct Entry: Hashable, Sendable {
    /// The TIFF number of the values' type.
    package var type: UInt16
    package var count: Int
    /// Where the values start, which may be inside the entry.
    package var offset: Int
  }

  package struct Directory: Hashable, Sendable {
    /// The tags by number.
    package var entries: [UInt16: Entry]
    /// The offset of the next directory; 0 if there is none.
    package var next: Int
  }

  /// The offset of the first directory.
  package let first: Int
  /// The two bytes after the byte order: 42 for TIFF and EXIF, 43 for BigTIFF.
  package let magic: Int
  package let isLittleEndian: Bool
  private let read: (Int, Int) -> [UInt8]

  /// Creates a reader, or returns `nil` if there is no TIFF header.
  ///
  /// - Parameter read: returns up to `count` bytes at `offset`.
  package init?(read: @escaping (_ offset: Int, _ count: Int) -> [UInt8]) {
    let header = read(0, 16)
    guard header.count >= 8 else { return nil }
    switch (header[0], header[1]) {
    case (0x49, 0x49): isLittleEndian = true
    case (0x4D, 0x4D): isLittleEndian = false
    default: return nil
    }
    self.read = read
    magic = Self.number(header[2..<4], littleEndian: isLittleEndian)
    guard magic == 43 else {
      first = Self.number(header[4..<8], littleEndian: isLittleEndian)
      return
    }
    guard header.count == 16, let offset = Self.offset(header[8..<16], isLittleEndian) else {
      return nil
    }
    first = offset
  }

  /// Creates a reader of a file's bytes.
  package init?(_ reader: ByteReader) {
    self.init { offset, count in
      guard offset >= 0, count > 0, offset < reader.size else { return [] }
      return reader.bytes(offset..<(offset + min(count, reader.size - offset))) ?? []
    }
  }

  /// Creates a reader of an EXIF block, with or without its `Exif` prefix.
  package init?(exif: [UInt8]) {
    let start = exif.starts(with: Array("Exif\0\0".utf8)) ? 6 : 0
    self.init { offset, count in
      guard offset >= 0, offset <= exif.count - start else { return [] }
      return Array(exif.dropFirst(start + offset).prefix(count))
    }
  }

  /// Reads the directory at an offset, or returns `nil` if there is none.
  package func directory(at offset: Int) -> Directory? {
    guard offset >= 8 else { return nil }
    // Sizes of the number of entries, of an entry, and of a count, an offset or inline values.
    let (countSize, entrySize, field) = magic == 43 ? (8, 20, 8) : (2, 12, 4)
    let head = read(offset, countSize)
    guard head.count == countSize, let count = value(head[...]), count > 0, count <= 1024 else {
      return nil
    }
    let bytes = read(offset + countSize, count * entrySize + field)
    var entries: [UInt16: Entry] = [:]
    var seen: Set<UInt16> = []
    for index in 0..<count where bytes.count >= (index + 1) * entrySize {
      let at = index * entrySize
      let tag = UInt16(number(bytes[at..<(at + 2)]))
      // As for libtiff: of a tag that is there twice the first counts, whatever it is.
      guard seen.insert(tag).inserted else { continue }
      let type = UInt16(number(bytes[(at + 2)..<(at + 4)]))
      guard let size = Self.size(of: type), let values = value(bytes[(at + 4)..<(at + 4 + field)]),
        let total = values.multiplying(by: size)
      else { continue }
      let place = at + 4 + field
      let start =
        total <= field ? offset + countSize + place : value(bytes[place..<(place + field)])
      guard let start else { continue }
      entries[tag] = Entry(type: type, count: values, offset: start)
    }
    let isWhole = bytes.count == count * entrySize + field
    let next = isWhole ? value(bytes[(count * entrySize)...]) ?? 0 : 0
    return entries.isEmpty ? nil : Directory(entries: entries, next: next)
  }

  /// Reads up to `limit` integers of a tag.
  package func integers(_ tag: UInt16, in directory: Directory, limit: Int = 8) -> [Int] {
    guard let entry = directory.entries[tag], let size = Self.size(of: entry.type),
      [1, 3, 4, 13, 16, 18].contains(entry.type)
    else { return [] }
    let count = min(entry.count, limit)
    let bytes = read(entry.offset, count * size)
    guard bytes.count == count * size else { return [] }
    return (0..<count).compactMap { value(bytes[($0 * size)..<(($0 + 1) * size)]) }
  }

  /// Reads the first integer of a tag.
  package func integer(_ tag: UInt16, in directory: Directory) -> Int? {
    integers(tag, in: directory, limit: 1).first
  }

  /// Reads the text of a tag up to its first NUL, at most 256 bytes.
  package func text(_ tag: UInt16, in directory: Directory) -> String? {
    guard let entry = directory.entries[tag], entry.type == 2 else { return nil }
    let bytes = read(entry.offset, min(entry.count, 256)).prefix { $0 != 0 }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Reads up to `limit` fractions of a tag; one with a zero denominator is `nil`.
  package func fractions(_ tag: UInt16, in directory: Directory, limit: Int = 3) -> [Double?] {
    guard let entry = directory.entries[tag], entry.type == 5 else { return [] }
    let count = min(entry.count, limit)
    let bytes = read(entry.offset, count * 8)
    guard bytes.count == count * 8 else { return [] }
    return (0..<count).map {
      let below = number(bytes[($0 * 8 + 4)..<($0 * 8 + 8)])
      return below == 0 ? nil : Double(number(bytes[($0 * 8)..<($0 * 8 + 4)])) / Double(below)
    }
  }

  /// Reads the raw bytes of a tag's values, or returns `nil` if any is missing.
  ///
  /// - Parameter limit: the maximum size in bytes; larger values count as absent.
  package func bytes(_ tag: UInt16, in directory: Directory, limit: Int) -> [UInt8]? {
    guard let entry = directory.entries[tag], let size = Self.size(of: entry.type),
      let total = entry.count.multiplying(by: size), total > 0, total <= limit
    else { return nil }
    let bytes = read(entry.offset, total)
    return bytes.count == total ? bytes : nil
  }

  /// An integer of any width up to eight bytes; `nil` if too large for any file.
  private func value(_ bytes: ArraySlice<UInt8>) -> Int? {
    bytes.count == 8 ? Self.offset(bytes, isLittleEndian) : number(bytes)
  }

  private static func offset(_ bytes: ArraySlice<UInt8>, _ littleEndian: Bool) -> Int? {
    let top = littleEndian ? bytes.last : bytes.first
    let rest = littleEndian ? bytes.dropLast() : bytes.dropFirst()
    return top == 0 ? number(rest, littleEndian: littleEndian) : nil
  }

  private func number(_ bytes: ArraySlice<UInt8>) -> Int {
    Self.number(bytes, littleEndian: isLittleEndian)
  }

  private static func number(_ bytes: ArraySlice<UInt8>, littleEndian: Bool) -> Int {
    bytes.number(littleEndian: littleEndian)
  }

  /// The size of a value of a type, in bytes.
  static func size(of type: UInt16) -> Int? {
    switch type {
    case 1, 2, 6, 7: 1
    case 3, 8: 2
    case 4, 9, 11, 13: 4
    // The last three are from BigTIFF.
    case 5, 10, 12, 16, 17, 18: 8
    default: nil
    }
  }
}

extension Int {
  /// The product, or `nil` on overflow.
  fileprivate func multiplying(by other: Int) -> Int? {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? nil : product
  }
}
