/// Cleans text from files for the record.
enum TagText {
  /// Decodes bytes as UTF-8, or otherwise as ISO 8859-1, and cleans the text.
  ///
  /// EXIF allows only ASCII, and IPTC rarely names its encoding; in practice, the text is UTF-8 or
  /// has the encoding of an old Windows or Mac program.
  static func decode(_ bytes: [UInt8]) -> String? {
    let bytes = bytes.prefix { $0 != 0 }
    if let text = String(validating: bytes, as: UTF8.self) { return clean(text.unicodeScalars) }
    return clean(bytes.lazy.map { Unicode.Scalar($0) })
  }

  /// Decodes Windows' own tags, which are little-endian UTF-16.
  static func decodeUTF16(_ bytes: [UInt8]) -> String? {
    let units = stride(from: 0, to: bytes.count - 1, by: 2).map {
      UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
    }
    return clean(String(decoding: units.prefix { $0 != 0 }, as: UTF16.self).unicodeScalars)
  }

  /// Removes control characters, and white space at both ends; returns `nil` if nothing remains.
  private static func clean(_ scalars: some Sequence<Unicode.Scalar>) -> String? {
    var text = String.UnicodeScalarView()
    var end = text.startIndex
    for scalar in scalars {
      // Records are read on terminals and in spreadsheets. White space stays, because captions have
      // line breaks.
      let isControl = scalar.properties.generalCategory == .control
      let isSpace = scalar.properties.isWhitespace
      if isControl && !isSpace || isSpace && text.isEmpty { continue }
      text.append(scalar)
      if !isSpace { end = text.endIndex }
    }
    let trimmed = String(text[..<end])
    return trimmed.isEmpty ? nil : trimmed
  }
}
