import PipelineModel

/// A picture's EXIF tags, under EXIF's own names.
enum ExifFacts {
  /// The standardised groups: the interoperability, first and EXIF directories.
  ///
  /// If several have a tag, the last one wins. Directories of thumbnails, raw data and makers don't
  /// describe the picture or have no standard.
  private static let groups = ["Iop", "Image", "Photo"]

  /// Tags that locate something in the file or contain another format.
  private static let structure: Set = [
    "StripOffsets", "StripByteCounts", "RowsPerStrip", "TileWidth", "TileLength", "TileOffsets",
    "TileByteCounts", "SubIFDs", "JPEGTables", "JPEGInterchangeFormat",
    "JPEGInterchangeFormatLength", "ExifTag", "GPSTag", "InteroperabilityTag", "XMLPacket",
    "IPTCNAA", "ImageResources", "InterColorProfile", "MakerNote", "PrintImageMatching",
    "DNGPrivateData", "OriginalRawFileData", "FreeOffsets", "FreeByteCounts", "DotRange",
  ]

  /// Tags of type “undefined” whose bytes are text.
  private static let versions: Set = [
    "ExifVersion", "FlashpixVersion", "InteroperabilityVersion",
  ]

  /// Tags of type “undefined” whose bytes are small numbers.
  private static let smallNumbers: Set = ["FileSource", "SceneType", "ComponentsConfiguration"]

  /// Timestamp tags, with the tags of their fraction and zone.
  private static let moments = [
    "DateTime": ("SubSecTime", "OffsetTime"),
    "DateTimeOriginal": ("SubSecTimeOriginal", "OffsetTimeOriginal"),
    "DateTimeDigitized": ("SubSecTimeDigitized", "OffsetTimeDigitized"),
  ]

  static func read(_ file: MetadataFile, _ limits: inout FactLimits) -> [String: JSONValue] {
    let (keys, left) = file.keys(.exif, limit: FactLimits.tags)
    limits.leaveOut(left)
    var facts: [String: JSONValue] = [:]
    for group in groups {
      let prefix = "Exif.\(group)."
      for key in keys where key.hasPrefix(prefix) {
        let name = String(key.dropFirst(prefix.count))
        guard !structure.contains(name), !name.hasPrefix("0x") else { continue }
        if let value = value(key, name, file, &limits) { limits.add(value, name, to: &facts) }
      }
    }
    return facts
  }

  /// A tag's value by its EXIF type, or `nil` if it has no known value.
  static func value(
    _ key: String, _ name: String, _ file: MetadataFile, _ limits: inout FactLimits
  ) -> JSONValue? {
    guard let bytes = file.bytes(key) else {
      limits.leaveOut()
      return nil
    }
    switch file.type(key) {
    case "Ascii":
      if name == "Copyright" { return copyright(bytes) }
      guard let text = file.text(key).flatMap(TagText.decode) else { return nil }
      guard let (fraction, offset) = moments[name] else {
        return name == "GPSDateStamp" ? TagDate.date(text).map { .string($0) } : .string(text)
      }
      func other(_ name: String) -> String? {
        file.text("Exif.Photo.\(name)").flatMap(TagText.decode)
      }
      return TagDate.moment(text, fraction: other(fraction), offset: other(offset))
        .map { .string($0) }
    case "Comment": return comment(file.text(key) ?? []).map { .string($0) }
    case "Undefined":
      if versions.contains(name) { return TagText.decode(bytes).map { .string($0) } }
      return smallNumbers.contains(name) ? numbers(file.text(key), limit: 16, &limits) : nil
    case "Byte":
      // Windows' own tags: XPTitle, XPComment, XPAuthor, XPKeywords, XPSubject.
      if name.hasPrefix("XP") { return TagText.decodeUTF16(bytes).map { .string($0) } }
      return bytes.count <= 16 ? numbers(file.text(key), limit: 16, &limits) : nil
    case "Rational", "SRational":
      let text = file.text(key) ?? []
      // Several numbers without fractions are the bytes of a value with a wrong type in the file.
      guard text.contains(UInt8(ascii: "/")) || !text.contains(0x20) else { return nil }
      return numbers(text, limit: FactLimits.values, &limits)
    case "Short", "Long", "SByte", "SShort", "SLong", "Float", "Double":
      return numbers(file.text(key), limit: FactLimits.values, &limits)
    default: return nil
    }
  }

  /// One number or several; `nil` if none is known.
  private static func numbers(
    _ text: [UInt8]?, limit: Int, _ limits: inout FactLimits
  ) -> JSONValue? {
    let numbers = TagNumber.list(String(decoding: text ?? [], as: UTF8.self))
    guard numbers.count <= limit else {
      limits.leaveOut()
      return nil
    }
    guard numbers.contains(where: { $0 != nil }) else { return nil }
    let values = numbers.map { $0.map(TagNumber.json) ?? .null }
    return values.count == 1 ? values[0] : .array(values)
  }

  /// The photographer's and the editor's copyright, separated by a NUL.
  private static func copyright(_ bytes: [UInt8]) -> JSONValue? {
    let claims = bytes.split(separator: 0).compactMap { TagText.decode(Array($0)) }
    guard claims.count > 1 else { return claims.first.map { .string($0) } }
    return .array(claims.prefix(2).map { .string($0) })
  }

  /// Decodes a comment, which exiv2 prefixes with its encoding, as in `charset=Ascii `.
  private static func comment(_ text: [UInt8]) -> String? {
    guard text.starts(with: Array("charset=".utf8)) else { return TagText.decode(text) }
    return TagText.decode(Array(text.drop { $0 != 0x20 }))
  }
}
