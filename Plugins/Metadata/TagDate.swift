/// Converts EXIF's and IPTC's dates and times to RFC 3339.
enum TagDate {
  /// Parses a date: `2020:05:01`, with any separators.
  static func date(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 10, let year = number(bytes, 0..<4), let month = number(bytes, 5..<7),
      let day = number(bytes, 8..<10), year > 0, (1...12).contains(month),
      (1...days(month, year)).contains(day), !isDigit(bytes[4]), !isDigit(bytes[7])
    else { return nil }
    return "\(pad(year, 4))-\(pad(month))-\(pad(day))"
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
    return "\(date)T\(pad(hour)):\(pad(minute)):\(pad(second))\(part)\(zone(offset) ?? "")"
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

  static func pad(_ value: Int, _ width: Int = 2) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  private static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
