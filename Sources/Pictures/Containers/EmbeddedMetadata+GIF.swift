extension EmbeddedMetadata {
  /// Walks the blocks of a GIF.
  ///
  /// Source: GIF89a, sections 18 to 26; XMP part 3, section 1.1.2, for the packet, which is not
  /// divided into sub-blocks: a trailer of numbers leads any reader of sub-blocks to their end.
  mutating func readGIF(_ reader: ByteReader) {
    guard let flags = reader.number(at: 10, 1) else { return }
    var at = 13 + Self.tableSize(flags)
    for _ in 0..<100_000 {
      switch reader.number(at: at, 1) {
      case 0x21:
        let isXMP = reader.bytes((at + 3)..<(at + 14))?.starts(with: "XMP DataXMP".utf8) == true
        let start = at + 2 + (isXMP ? 12 : 0)
        let label = reader.number(at: at + 1, 1)
        at = Self.end(of: reader, blocksAt: start)
        if isXMP, at - start <= Self.blockLimit, let bytes = reader.bytes(start..<max(start, at)) {
          // The trailer is 1, the numbers from 255 to 0, and 0.
          let end = bytes.dropLast(258).lastIndex(of: UInt8(ascii: ">")).map { $0 + 1 } ?? 0
          xmp = xmp ?? Array(bytes[..<end])
        } else if label == 0xFE, texts.count < 256 {
          texts.append(Text(name: "Comment", text: Self.text(reader, blocksAt: start)))
        }
      case 0x2C:
        guard let flags = reader.number(at: at + 9, 1) else { return }
        frames = (frames ?? 0) + 1
        at = Self.end(of: reader, blocksAt: at + 11 + Self.tableSize(flags))
      default: return
      }
    }
  }

  private static func tableSize(_ flags: Int) -> Int {
    flags & 0x80 == 0 ? 0 : 3 << ((flags & 7) + 1)
  }

  private static func end(of reader: ByteReader, blocksAt start: Int) -> Int {
    var at = start
    while let length = reader.number(at: at, 1) {
      at += 1 + length
      if length == 0 { return at }
    }
    return reader.size
  }

  /// The first kilobytes of a comment, whose encoding is unspecified.
  private static func text(_ reader: ByteReader, blocksAt start: Int) -> String {
    var at = start
    var bytes: [UInt8] = []
    while bytes.count < 16 << 10, let length = reader.number(at: at, 1), length > 0,
      let block = reader.bytes((at + 1)..<(at + 1 + length))
    {
      bytes += block
      at += 1 + length
    }
    return String(validating: bytes, as: UTF8.self) ?? String(latin1: bytes)
  }
}
