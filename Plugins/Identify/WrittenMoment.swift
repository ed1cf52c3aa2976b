import Containers

/// A date, usually with a time, as programs and cameras write it, converted to RFC 3339.
struct WrittenMoment {
  /// RFC 3339; a date alone if there is no time, and without an offset if there is no zone.
  let text: String
  let hasTime: Bool

  /// Parses a text that contains a date; returns `nil` if the date is invalid.
  ///
  /// Accepts the forms of EXIF (`2024:05:06 07:08:09`, with any separators), ISO 8601
  /// (`20240506T070809+0200`), RFC 5322 and C's `asctime` (`Mon May  6 07:08:09 2024`). Rejects the
  /// zeros of several epochs, which come from clocks that were never set.
  ///
  /// - Parameters:
  ///   - fraction: digits after the second, from a separate tag.
  ///   - offset: a zone, from a separate tag.
  init?(_ written: String, fraction: String? = nil, offset: String? = nil) {
    let bytes = Array(written.utf8.prefix(128).drop { $0 <= 0x20 })
    guard let parts = Self.numeric(bytes) ?? Self.worded(bytes), let date = parts.date else {
      return nil
    }
    guard let clock = parts.clock else {
      guard !parts.hasBadClock, !Self.zeros.contains(date) else { return nil }
      (text, hasTime) = (date, false)
      return
    }
    guard !(clock == "00:00:00" && Self.zeros.contains(date)) else { return nil }
    let digits = (fraction ?? parts.fraction ?? "").utf8.prefix { Self.isDigit($0) }.prefix(9)
    let part = digits.isEmpty ? "" : "." + String(decoding: digits, as: UTF8.self)
    text = "\(date)T\(clock)\(part)\(Self.zone(offset) ?? Self.zone(parts.zone) ?? "")"
    hasTime = true
  }

  /// The first days of epochs: .NET's, QuickTime's, Unix's.
  private static let zeros: Set = ["0001-01-01", "1904-01-01", "1970-01-01"]

  private struct Parts {
    var date: String?
    var clock: String?
    var fraction: String?
    var zone: String?
    /// Whether something other than a time is in a time's place.
    var hasBadClock = false
  }

  // MARK: - Numbers

  private static func numeric(_ bytes: [UInt8]) -> Parts? {
    var at = 0
    func number(_ count: Int) -> Int? {
      guard at + count <= bytes.count, bytes[at..<(at + count)].allSatisfy(isDigit) else {
        return nil
      }
      defer { at += count }
      return bytes[at..<(at + count)].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
    func skip(_ characters: String) {
      if at < bytes.count, characters.utf8.contains(bytes[at]) { at += 1 }
    }
    guard let year = number(4) else { return nil }
    skip(":-/. ")
    guard let month = number(2) else { return nil }
    skip(":-/. ")
    guard let day = number(2) else { return nil }
    guard let date = date(year, month, day) else { return nil }
    var parts = Parts(date: date)
    while at < bytes.count, "Tt _-".utf8.contains(bytes[at]) { at += 1 }
    readClock(bytes[min(at, bytes.count)...], &parts)
    return parts
  }

  /// Parses `07:08:09.5+02:00`, with or without colons.
  private static func readClock(_ bytes: ArraySlice<UInt8>, _ parts: inout Parts) {
    var rest = bytes
    func number() -> Int? {
      guard rest.count >= 2, rest.prefix(2).allSatisfy(isDigit) else { return nil }
      defer { rest = rest.dropFirst(2) }
      return rest.prefix(2).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
    func skip(_ character: Character) -> Bool {
      guard let first = rest.first, first == character.asciiValue else { return false }
      rest = rest.dropFirst()
      return true
    }
    // Blanks and colons alone mean that the time is unknown.
    guard rest.contains(where: isDigit) else { return }
    parts.hasBadClock = true
    guard let hour = number() else { return }
    let separator: Character = rest.first == UInt8(ascii: "-") ? "-" : ":"
    _ = skip(separator)
    guard let minute = number() else { return }
    var second = 0
    if skip(separator) || rest.first.map(isDigit) == true {
      guard let seconds = number() else { return }
      second = seconds
    }
    guard hour < 24, minute < 60, second < 61 else { return }
    if skip(".") || skip(",") {
      let digits = rest.prefix { isDigit($0) }
      parts.fraction = String(decoding: digits, as: UTF8.self)
      rest = rest.dropFirst(digits.count)
    }
    parts.hasBadClock = false
    parts.clock = [hour, minute, second].map { CivilTime.pad($0) }.joined(separator: ":")
    parts.zone = String(decoding: rest.drop { $0 == 0x20 }, as: UTF8.self)
  }

  // MARK: - Words

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static func worded(_ bytes: [UInt8]) -> Parts? {
    let words = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      .split { $0 == " " || $0 == "," || $0.isNewline }
    guard words.count >= 3 else { return nil }
    var (year, month, day): (Int?, Int?, Int?)
    var parts = Parts()
    for word in words {
      if word.contains(":"), parts.clock == nil, !parts.hasBadClock {
        // A single-digit hour has no leading zero.
        let isShort = word.utf8.dropFirst().first == UInt8(ascii: ":")
        let clock = (isShort ? [0x30] : []) + Array(word.utf8)
        readClock(clock[...], &parts)
      } else if let known = months.firstIndex(of: word.prefix(3).lowercased()) {
        month = month ?? known + 1
      } else if word.utf8.allSatisfy(isDigit), let number = Int(word) {
        if word.utf8.count == 4 { year = year ?? number } else { day = day ?? number }
      } else if parts.clock != nil, parts.zone?.isEmpty != false {
        parts.zone = ["GMT", "UTC", "UT"].contains(word) ? "Z" : String(word)
      }
    }
    guard let year, let month, let day else { return nil }
    parts.date = date(year, month, day)
    return parts
  }

  // MARK: - Parts

  private static func date(_ year: Int, _ month: Int, _ day: Int) -> String? {
    guard year > 0, (1...12).contains(month), day >= 1, day <= CivilTime.days(month, year) else {
      return nil
    }
    return "\(CivilTime.pad(year, 4))-\(CivilTime.pad(month))-\(CivilTime.pad(day))"
  }

  /// Returns `Z` or `+02:00`, or `nil` if there is no such offset.
  private static func zone(_ text: String?) -> String? {
    guard let text else { return nil }
    if text.uppercased() == "Z" { return "Z" }
    let sign = text.utf8.first
    let digits = text.utf8.dropFirst().filter { $0 != 0x3A }.prefix { isDigit($0) }
      .map { Int($0 - 0x30) }
    guard sign == 0x2B || sign == 0x2D, digits.count == 4 || digits.count == 2 else { return nil }
    let hours = digits[0] * 10 + digits[1]
    let minutes = digits.count == 4 ? digits[2] * 10 + digits[3] : 0
    guard hours <= 14, minutes < 60 else { return nil }
    return "\(sign == 0x2B ? "+" : "-")\(CivilTime.pad(hours)):\(CivilTime.pad(minutes))"
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
