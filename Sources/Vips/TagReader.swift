/// A reader of TIFF's directories of tags, which EXIF blocks and many raw files are made of.
///
/// Every offset is checked against what can be read, and no structure is
/// followed twice. Source: TIFF 6.0, section 2; EXIF 2.32, section 4.6.
package struct TagReader {
  /// One tag with its values.
  package struct Entry: Hashable, Sendable {
    var type: UInt16
    var count: Int
    var offset: Int
  }

  /// The tags of one directory, and where the next one is (0 if there is none).
  package struct Directory: Hashable, Sendable {
    /// The tags by number.
    package var entries: [UInt16: Entry]
    /// Where the next directory is.
    package var next: Int
  }

  /// Where the first directory is.
  package let first: Int
  /// The two bytes after the byte order: 42 for TIFF and EXIF.
  package let magic: Int
  private let isLittleEndian: Bool
  private let read: (Int, Int) -> [UInt8]

  /// Makes a reader, or returns `nil` if there is no TIFF header.
  ///
  /// - Parameter read: returns up to so many bytes (second) at an offset (first).
  package init?(read: @escaping (_ offset: Int, _ count: Int) -> [UInt8]) {
    let header = read(0, 8)
    guard header.count == 8 else { return nil }
    switch (header[0], header[1]) {
    case (0x49, 0x49): isLittleEndian = true
    case (0x4D, 0x4D): isLittleEndian = false
    default: return nil
    }
    self.read = read
    magic = Self.number(header[2..<4], littleEndian: isLittleEndian)
    first = Self.number(header[4..<8], littleEndian: isLittleEndian)
  }

  /// Makes a reader of an EXIF block, with or without its `Exif` prefix.
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
    let head = read(offset, 2)
    guard head.count == 2 else { return nil }
    let count = number(head[0..<2])
    guard count > 0, count <= 1024 else { return nil }
    let bytes = read(offset + 2, count * 12 + 4)
    var entries: [UInt16: Entry] = [:]
    for index in 0..<count where bytes.count >= (index + 1) * 12 {
      let at = index * 12
      let type = UInt16(number(bytes[(at + 2)..<(at + 4)]))
      let values = number(bytes[(at + 4)..<(at + 8)])
      guard let size = Self.size(of: type) else { continue }
      let inline = values * size <= 4
      entries[UInt16(number(bytes[at..<(at + 2)]))] = Entry(
        type: type, count: values,
        offset: inline ? offset + 2 + at + 8 : number(bytes[(at + 8)..<(at + 12)]))
    }
    let next = bytes.count == count * 12 + 4 ? number(bytes[(count * 12)...]) : 0
    return entries.isEmpty ? nil : Directory(entries: entries, next: next)
  }

  /// Reads whole numbers of a tag, at most `limit` of them.
  package func integers(_ tag: UInt16, in directory: Directory, limit: Int = 8) -> [Int] {
    guard let entry = directory.entries[tag], let size = Self.size(of: entry.type),
      [1, 3, 4, 13].contains(entry.type)
    else { return [] }
    let count = min(entry.count, limit)
    let bytes = read(entry.offset, count * size)
    guard bytes.count == count * size else { return [] }
    return (0..<count).map { number(bytes[($0 * size)..<(($0 + 1) * size)]) }
  }

  /// Reads the first whole number of a tag.
  package func integer(_ tag: UInt16, in directory: Directory) -> Int? {
    integers(tag, in: directory, limit: 1).first
  }

  /// Reads the text of a tag up to its first NUL, at most 256 bytes of it.
  package func text(_ tag: UInt16, in directory: Directory) -> String? {
    guard let entry = directory.entries[tag], entry.type == 2 else { return nil }
    let bytes = read(entry.offset, min(entry.count, 256)).prefix { $0 != 0 }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  private func number(_ bytes: ArraySlice<UInt8>) -> Int {
    Self.number(bytes, littleEndian: isLittleEndian)
  }

  private static func number(_ bytes: ArraySlice<UInt8>, littleEndian: Bool) -> Int {
    let value: (Int, UInt8) -> Int = { $0 << 8 | Int($1) }
    return littleEndian ? bytes.reversed().reduce(0, value) : bytes.reduce(0, value)
  }

  private static func size(of type: UInt16) -> Int? {
    switch type {
    case 1, 2, 6, 7: 1
    case 3, 8: 2
    case 4, 9, 11, 13: 4
    case 5, 10, 12: 8
    default: nil
    }
  }
}
