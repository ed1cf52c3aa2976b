import Containers
import PipelineModel

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

/// Numbers as exiv2 prints them: `100`, `-3`, `28/10`, `0.5`, several separated by spaces.
enum TagNumber {
  /// Parses one number; returns `nil` for anything else, including fractions over zero.
  static func read(_ text: some StringProtocol) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let numerator = Double(first), numerator.isFinite else {
      return nil
    }
    guard parts.count == 2 else { return parts.count == 1 ? numerator : nil }
    guard let denominator = Double(parts[1]), denominator.isFinite, denominator != 0 else {
      return nil
    }
    // EXIF writes an infinite distance as FFFFFFFF in the numerator.
    return numerator == 4_294_967_295 ? nil : numerator / denominator
  }

  /// Parses several numbers; `nil` for entries that are not numbers.
  static func list(_ text: some StringProtocol) -> [Double?] {
    text.split(separator: " ").map { read($0) }
  }

  /// The JSON form: whole numbers as integers.
  static func json(_ number: Double) -> JSONValue {
    Int(exactly: number).map { .integer($0) } ?? .number(number)
  }
}

/// Converts EXIF's and IPTC's dates and times to RFC 3339.
enum TagDate {
  /// Parses a date: `2020:05:01`, with any separators.
  static func date(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 10, let year = number(bytes, 0..<4), let month = number(bytes, 5..<7),
      let day = number(bytes, 8..<10), year > 0, (1...12).contains(month),
      (1...CivilTime.days(month, year)).contains(day), !isDigit(bytes[4]), !isDigit(bytes[7])
    else { return nil }
    return "\(CivilTime.pad(year, 4))-\(CivilTime.pad(month))-\(CivilTime.pad(day))"
  }

  /// Parses a date and a time: `2020:05:01 12:00:00`.
  ///
  /// - Parameters:
  ///   - fraction: digits after the second, from a separate tag.
  ///   - offset: `+02:00`, from a separate tag; if missing, the result has no offset.
  static func moment(_ text: String, fraction: String?, offset: String?) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 19, let date = date(text), let hour = number(bytes, 11..<13),
      let minute = number(bytes, 14..<16), let second = number(bytes, 17..<19),
      hour < 24, minute < 60, second <= 60, !isDigit(bytes[13]), !isDigit(bytes[16])
    else { return nil }
    let digits = (fraction ?? "").utf8.prefix { isDigit($0) }.prefix(9)
    let part = digits.isEmpty ? "" : "." + String(decoding: digits, as: UTF8.self)
    let clock = [hour, minute, second].map { CivilTime.pad($0) }.joined(separator: ":")
    return "\(date)T\(clock)\(part)\(zone(offset) ?? "")"
  }

  /// Parses an IPTC time: `12:00:00+01:00`.
  static func time(_ text: String) -> String? {
    let moment = moment("2000-01-01T" + text, fraction: nil, offset: String(text.dropFirst(8)))
    return moment.map { String($0.dropFirst(11)) }
  }

  /// Returns `Z` or `+02:00`, or `nil` if there is no such offset.
  private static func zone(_ text: String?) -> String? {
    guard let text, text != "Z" else { return text }
    let bytes = Array(text.utf8)
    guard bytes.count >= 6, [0x2B, 0x2D].contains(bytes[0]), bytes[3] == 0x3A,
      let hours = number(bytes, 1..<3), let minutes = number(bytes, 4..<6), hours <= 14,
      minutes < 60
    else { return nil }
    return String(decoding: bytes[..<6], as: UTF8.self)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func number(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    guard bytes[range].allSatisfy(isDigit) else { return nil }
    return bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }
}
