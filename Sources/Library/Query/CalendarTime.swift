import Glibc
import PipelineModel

/// Dates and times as people write them.
enum CalendarTime {
  /// Which time a date is of.
  enum Clock: Sendable {
    /// What a clock on the spot showed, counted as if it were UTC.
    case wall
    /// A point in time, for dates in this machine's time zone.
    case local
  }

  /// The first microsecond of a date, and the first after it.
  ///
  /// - Parameter text: `2024`, `2024-05`, `2024-05-17`, `2024-05-17T12:30`, with or without seconds,
  ///   `today` or `yesterday`.
  static func span(_ text: String, on clock: Clock, now: Timestamp) -> Range<Int64>? {
    guard var parts = Parts(text) ?? Parts(day: text, now: now) else { return nil }
    guard let start = parts.microseconds(clock) else { return nil }
    parts.advance()
    guard let end = parts.microseconds(clock) else { return nil }
    // An hour that the clocks skip in spring is empty.
    return min(start, end)..<end
  }

  /// A moment some time ago.
  ///
  /// - Parameter text: a number with `h`, `d`, `w` or `y` (365 days).
  static func ago(_ text: String, on clock: Clock, now: Timestamp) -> Int64? {
    let hours: [Character: Int64] = ["h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24]
    // At most some ten thousand years, so that nothing overflows.
    guard let unit = text.last.flatMap({ hours[$0] }), let first = text.first,
      "0"..."9" ~= first, let count = Int64(text.dropLast()), count < 100_000_000 / unit
    else { return nil }
    let start = clock == .wall ? wallClock(of: now) : now.microseconds
    return start - count * unit * 3_600_000_000
  }

  /// What the clock showed, in microseconds as if it were UTC.
  ///
  /// - Parameter text: a date or RFC 3339, whose zone is left out.
  static func wallClock(_ text: String) -> Int64? {
    var whole = String(text.prefix(19))
    // A leap second; the clock of computers has none.
    if whole.hasSuffix(":60") { whole = whole.dropLast(2) + "59" }
    guard let parts = Parts(whole), parts.values.count >= 3,
      let start = parts.microseconds(.wall)
    else { return nil }
    let rest = text.dropFirst(19)
    guard rest.first == "." else { return start }
    let digits = rest.dropFirst().prefix { "0"..."9" ~= $0 }.prefix(6)
    return start + (Int64(digits + String(repeating: "0", count: 6 - digits.count)) ?? 0)
  }

  private static func wallClock(of time: Timestamp) -> Int64 {
    let parts = Parts(local: time)
    return (parts.microseconds(.wall) ?? 0) + time.microseconds % 1_000_000
  }
}

/// Dates as texts.
package enum CalendarDay {
  /// The date of a day, such as `2024-05-17`.
  ///
  /// - Parameter day: counted from 1970-01-01.
  package static func text(_ day: Int64) -> String {
    var seconds = time_t(day) * 86_400
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ value: Int32, _ count: Int) -> String {
      let text = "\(value)"
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-"
      + digits(parts.tm_mday, 2)
  }
}

/// Year, month, day, hour, minute and second, or the first of them.
private struct Parts {
  var values: [Int32]

  /// What separates each from the one before it.
  private static let separators: [Character] = ["-", "-", "T", ":", ":"]

  init?(_ text: String) {
    var rest = Substring(text)
    guard let year = Self.number(&rest, digits: 4), year >= 1 else { return nil }
    values = [year]
    for separator in Self.separators where !rest.isEmpty {
      guard rest.popFirst() == separator, let value = Self.number(&rest, digits: 2) else {
        return nil
      }
      values.append(value)
    }
    guard rest.isEmpty, isValid else { return nil }
  }

  init(local time: Timestamp) {
    var seconds = time_t((Double(time.microseconds) / 1_000_000).rounded(.down))
    var parts = tm()
    localtime_r(&seconds, &parts)
    values = [
      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
      parts.tm_sec,
    ]
  }

  init?(day: String, now: Timestamp) {
    guard ["today", "yesterday"].contains(day) else { return nil }
    values = Array(Self(local: now).values.prefix(3))
    if day == "yesterday" { values[2] -= 1 }
  }

  private static func number(_ text: inout Substring, digits: Int) -> Int32? {
    let part = text.prefix(digits)
    guard part.count == digits, part.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    text = text.dropFirst(digits)
    return Int32(part)
  }

  /// Whether there is such a date and time.
  private var isValid: Bool {
    var parts = calendarParts
    let seconds = timegm(&parts)
    guard seconds != -1 else { return values == [1969, 12, 31, 23, 59, 59] }
    // The function has replaced 30 February by 1 March.
    let normal = [
      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
      parts.tm_sec,
    ]
    return Array(normal.prefix(values.count)) == values
  }

  private var calendarParts: tm {
    func value(_ index: Int, _ fallback: Int32) -> Int32 {
      values.indices.contains(index) ? values[index] : fallback
    }
    var parts = tm()
    parts.tm_year = value(0, 1970) - 1900
    parts.tm_mon = value(1, 1) - 1
    parts.tm_mday = value(2, 1)
    parts.tm_hour = value(3, 0)
    parts.tm_min = value(4, 0)
    parts.tm_sec = value(5, 0)
    parts.tm_isdst = -1
    return parts
  }

  /// Moves to the following year, month, day, hour, minute or second, whichever is the last part.
  mutating func advance() { values[values.count - 1] += 1 }

  func microseconds(_ clock: CalendarTime.Clock) -> Int64? {
    var parts = calendarParts
    let seconds = clock == .wall ? timegm(&parts) : localSeconds
    let (time, isOver) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000)
    return isOver ? nil : time
  }

  /// The first time at which clocks here show this.
  private var localSeconds: time_t {
    let wanted = calendarParts
    let candidates = [Int32(1), 0].compactMap { isSummer -> time_t? in
      var parts = wanted
      parts.tm_isdst = isSummer
      var seconds = mktime(&parts)
      var shown = tm()
      localtime_r(&seconds, &shown)
      // Past the end of a day or an hour, the parts are not what a clock shows.
      var (left, right) = (wanted, shown)
      return timegm(&left) == timegm(&right) ? seconds : nil
    }
    if let first = candidates.min() { return first }
    // No clock shows a time that is skipped in spring.
    var parts = wanted
    return mktime(&parts)
  }
}
