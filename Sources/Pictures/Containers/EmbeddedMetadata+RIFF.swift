extension EmbeddedMetadata {
  /// Walks the chunks of a WebP, AVI or WAV file.
  ///
  /// Source: Google's WebP Container Specification; Microsoft's Multimedia Programming Interface 1.0,
  /// chapter 2; EBU Tech 3285 for `bext`.
  mutating func readRIFF(_ reader: ByteReader) {
    walkRIFF(reader, in: 12..<max(12, reader.size), depth: 0)
    let order = ["riff:IDIT", "riff:ICRD", "riff:bext"]
    let rank = { (text: Text) in order.firstIndex(of: text.name) ?? order.count }
    moments.sort { rank($0) < rank($1) }
  }

  private mutating func walkRIFF(_ reader: ByteReader, in range: Range<Int>, depth: Int) {
    var at = range.lowerBound
    for _ in 0..<10_000 {
      guard at + 8 <= range.upperBound, let type = reader.code(at: at),
        let length = reader.number(at: at + 4, 4, littleEndian: true)
      else { return }
      let start = at + 8
      let end = min(start + length, range.upperBound)
      at = start + (length + 1) / 2 * 2
      switch type {
      case "LIST" where depth < 4:
        // Contains only a film's frames.
        guard reader.code(at: start) != "movi", start + 4 <= end else { continue }
        walkRIFF(reader, in: (start + 4)..<end, depth: depth + 1)
      case "EXIF" where length <= Self.blockLimit: addEXIF(reader.bytes(start..<end))
      case "XMP ", "_PMX":
        if length <= Self.blockLimit { xmp = xmp ?? reader.bytes(start..<end) }
      case "ANMF": frames = (frames ?? 0) + 1
      case "IDIT", "ICRD": addMoment(type, reader.bytes(start..<min(end, start + 64)))
      case "bext" where length >= 338:
        // Date and time follow the description, the originator and its reference.
        let text = reader.bytes((start + 320)..<(start + 338))
        addMoment(type, text.map { $0[..<10] + [0x20] + $0[10...] })
      default: break
      }
    }
  }

  private mutating func addMoment(_ type: String, _ text: [UInt8]?) {
    guard let text, moments.count < 16 else { return }
    moments.append(Text(name: "riff:\(type)", text: String(latin1: text.prefix { $0 != 0 })))
  }
}
