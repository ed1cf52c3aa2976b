import Containers

/// Whether a raw file ends before the data that its tables announce.
///
/// A preview from the beginning of a file would hide that the picture itself is cut.
enum RawExtent {
  /// Returns whether data are missing at the end, as far as the file's kind tells.
  ///
  /// Knows TIFF directories, Fujifilm's header and ISO base media boxes. Canon's CRW and Sigma's X3F
  /// have their table at the end, without which nothing is found.
  static func isCutShort(_ file: RawFile) -> Bool {
    let reader = ByteReader(size: file.size, limit: 1 << 20) { file.read(at: $0, count: $1) }
    if reader.code(at: 0, 8) == "FUJIFILM" { return isCutRAF(reader) }
    if reader.code(at: 4) == "ftyp" { return isCutBoxes(reader) }
    return file.tags().map { isCutTIFF($0, file.size) } ?? false
  }

  /// Source: the RAF header as ExifTool's documentation has it: offset and length of the JPEG at 84,
  /// of the header of the raw data at 92, of the raw data at 100.
  private static func isCutRAF(_ reader: ByteReader) -> Bool {
    [84, 92, 100].contains { place in
      guard let offset = reader.number(at: place, 4), let length = reader.number(at: place + 4, 4)
      else { return true }
      return offset + length > reader.size
    }
  }

  /// Source: ISO/IEC 14496-12, section 4.2.
  private static func isCutBoxes(_ reader: ByteReader) -> Bool {
    var at = 0
    for _ in 0..<64 where at < reader.size {
      guard var length = reader.number(at: at, 4) else { return true }
      if length == 0 { return false }
      if length == 1 {
        // The first byte of eight is 0 in any file.
        guard let long = reader.number(at: at + 9, 7) else { return true }
        length = long
      }
      guard length >= 8 else { return true }
      at += length
    }
    return at > reader.size
  }

  private static let valueLimit = 1 << 16
  /// The number in the header of Panasonic's files, which have the offset of the raw data in a tag of
  /// their own and none in StripOffsets. Source: ExifTool's PanasonicRaw tags.
  private static let panasonic = 0x55
  private static let noOffset = 0xFFFF_FFFF

  private static func isCutTIFF(_ reader: TagReader, _ size: Int) -> Bool {
    var pending = [reader.first]
    var seen: Set<Int> = []
    while let offset = pending.popLast(), seen.count < 40 {
      guard seen.insert(offset).inserted else { continue }
      guard let directory = reader.directory(at: offset) else {
        if offset >= size { return true }
        continue
      }
      // Offsets and lengths of strips, then of tiles.
      for (offsets, lengths) in [(0x0111, 0x0117), (0x0144, 0x0145)] as [(UInt16, UInt16)] {
        var starts = reader.integers(offsets, in: directory, limit: valueLimit)
        if offsets == 0x0111, reader.magic == panasonic, directory.entries[0x0118] != nil {
          starts = reader.integers(0x0118, in: directory, limit: valueLimit)
        }
        let counts = reader.integers(lengths, in: directory, limit: valueLimit)
        guard starts.count == counts.count else { continue }
        if zip(starts, counts).contains(where: { $0 != noOffset && $0 + $1 > size }) {
          return true
        }
      }
      pending += reader.integers(0x014A, in: directory)
      if directory.next > 0 { pending.append(directory.next) }
    }
    return false
  }
}
