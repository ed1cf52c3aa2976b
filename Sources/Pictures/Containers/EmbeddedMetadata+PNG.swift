internal import Compression

extension EmbeddedMetadata {
  /// Walks the chunks of a PNG, including those after its image data.
  ///
  /// Source: PNG (W3C, third edition), sections 5.3 and 11.3.
  mutating func readPNG(_ reader: ByteReader) {
    var at = 8
    var modified: Text?
    for _ in 0..<100_000 {
      guard let length = reader.number(at: at, 4), let type = reader.code(at: at + 4),
        length < 1 << 31
      else { break }
      let content = (at + 8)..<(at + 8 + length)
      at = content.upperBound + 4
      guard length <= Self.blockLimit else { continue }
      switch type {
      case "IHDR": bitDepth = reader.number(at: content.lowerBound + 8, 1)
      case "acTL": frames = reader.number(at: content.lowerBound, 4)
      case "eXIf": addEXIF(reader.bytes(content))
      case "tEXt", "zTXt", "iTXt":
        if let bytes = reader.bytes(content) { readText(bytes, type) }
      case "tIME":
        guard length >= 7, let bytes = reader.bytes(content) else { break }
        let year = bytes[..<2].number()
        let parts = bytes[2..<7].map { ($0 < 10 ? "0" : "") + "\($0)" }
        // The standard requires UTC.
        modified = Text(
          name: "png:tIME",
          text: "\(year)-\(parts[0])-\(parts[1])T\(parts[2...].joined(separator: ":"))Z")
      case "IEND": at = reader.size
      default: break
      }
    }
    // The standard's keyword has a space, which some programs omit.
    if let created = texts.first(where: {
      $0.name.lowercased().filter { $0 != " " } == "creationtime"
    }) {
      moments.append(Text(name: "png:\(created.name)", text: created.text))
    }
    if let modified { moments.append(modified) }
  }

  private mutating func readText(_ bytes: [UInt8], _ type: String) {
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].count <= 79 else { return }
    let keyword = String(latin1: parts[0])
    let isBlock = keyword == "XML:com.adobe.xmp" || keyword.hasPrefix("Raw profile type")
    // A reasonable number of texts, and one block of each kind, as only the first is kept.
    guard isBlock ? blocks.insert(keyword).inserted : texts.count < 256 else { return }
    let most = min(inflatable, isBlock ? 4 << 20 : 64 << 10)
    var text: [UInt8]?
    var isUTF8 = false
    switch type {
    case "tEXt": text = Array(parts[1])
    case "zTXt": text = inflated(parts[1].dropFirst(), atMost: most)
    default:
      // Compression flag and method, language, translated keyword, text.
      isUTF8 = true
      let rest = parts[1].dropFirst(2)
        .split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
      guard rest.count == 3 else { return }
      text = parts[1].first == 1 ? inflated(rest[2], atMost: most) : Array(rest[2])
    }
    guard let text else { return }
    switch keyword {
    case "XML:com.adobe.xmp": xmp = xmp ?? text
    case "Raw profile type exif", "Raw profile type APP1":
      guard let block = Self.profile(text) else { return }
      if block.starts(with: Array("http://ns.adobe.com/xap/1.0/\0".utf8)) {
        xmp = xmp ?? Array(block.dropFirst(29))
      } else {
        addEXIF(block)
      }
    case "Raw profile type xmp": xmp = xmp ?? Self.profile(text)
    case "Raw profile type iptc", "Raw profile type 8bim":
      guard let block = Self.profile(text) else { return }
      readResources(ByteReader(block), in: 0..<block.count)
    case _ where keyword.hasPrefix("Raw profile type"): break
    default:
      let decoded = isUTF8 ? String(decoding: text, as: UTF8.self) : String(latin1: text)
      texts.append(Text(name: keyword, text: decoded))
    }
  }

  /// Decodes an ImageMagick profile: lines with a name, a length, and hexadecimal digits.
  private static func profile(_ text: [UInt8]) -> [UInt8]? {
    let lines = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
    guard lines.count > 2, let count = Int(String(latin1: lines[1]).filter { $0 != " " }) else {
      return nil
    }
    let digits = lines[2...].joined().compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard count > 0, digits.count / 2 == count else { return nil }
    return (0..<count).map { UInt8(digits[$0 * 2] << 4 | digits[$0 * 2 + 1]) }
  }

  /// Inflates zlib data, and deducts the cost from the file's allowance.
  private mutating func inflated(
    _ bytes: some Collection<UInt8>, atMost greatest: Int
  ) -> [UInt8]? {
    guard greatest > 0 else { return nil }
    let text = Zlib.inflate(bytes, atMost: greatest)
    // Text that is too long has cost as much as the longest permitted.
    inflatable -= text?.count ?? greatest
    return text
  }
}
