extension EmbeddedMetadata {
  /// Reads the directories of a TIFF file, or of a raw file based on TIFF.
  mutating func readTIFF(_ reader: ByteReader) {
    let tags = TagReader { offset, count in
      guard offset >= 0, offset < reader.size else { return [] }
      return reader.bytes(offset..<min(offset + count, reader.size)) ?? []
    }
    guard let tags, let directories = ExifDirectories(tags), let (_, main) = directories.image
    else { return }
    exif = directories
    // TIFF 6.0, section 8: the default is 1.
    if tags.magic == 42 || tags.magic == 43 {
      bitDepth = tags.integer(0x0102, in: main) ?? 1
    }
    xmp = tags.bytes(0x02BC, in: main, limit: Self.blockLimit)
    iptc = tags.bytes(0x83BB, in: main, limit: Self.blockLimit)
    if let resources = tags.bytes(0x8649, in: main, limit: Self.blockLimit) {
      readResources(ByteReader(resources), in: 0..<resources.count)
    }
  }

  /// Reads Minolta's raw format: a header, then blocks, one of them with the EXIF directories.
  ///
  /// Source: LibRaw, `parse_minolta`.
  mutating func readMinolta(_ reader: ByteReader) {
    guard let end = reader.number(at: 4, 4).map({ min($0 + 8, reader.size) }) else { return }
    var at = 8
    while at + 8 <= end, let length = reader.number(at: at + 4, 4) {
      if reader.code(at: at) == "\0TTW", length <= Self.blockLimit {
        addEXIF(reader.bytes((at + 8)..<(at + 8 + length)))
      }
      at += 8 + length
    }
  }
}
