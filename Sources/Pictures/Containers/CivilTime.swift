/// Calendar calculations for times in files.
package enum CivilTime {
  /// Seconds from 1904 to 1970.
  static let unixEpoch = 2_082_844_800

  /// Formats seconds since 1904 in UTC, such as `2020-05-01T12:00:00Z`.
  static func text(secondsSince1904 seconds: Int) -> String? {
    // After the year 2999 it is damage, not a date.
    guard seconds < 34_588_944_000 else { return nil }
    // Days since 1 March of the year 0, so that a leap day ends its year.
    // Source: Howard Hinnant, “chrono-Compatible Low-Level Date Algorithms”, `civil_from_days`.
    let days = seconds / 86_400 + 695_361
    let era = days / 146_097
    let day = days % 146_097
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let ofYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let civilMonth = month < 10 ? month + 3 : month - 9
    let civilYear = era * 400 + year + (civilMonth <= 2 ? 1 : 0)
    let second = seconds % 86_400
    let clock = [second / 3600, second / 60 % 60, second % 60].map { pad($0) }
    let date = "\(civilYear)-\(pad(civilMonth))-\(pad(ofYear - (153 * month + 2) / 5 + 1))"
    return "\(date)T\(clock.joined(separator: ":"))Z"
  }

  package static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// A number with leading zeros up to a width.
  package static func pad(_ value: Int, _ width: Int = 2) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}

/// The dates in IPTC datasets, with their times if present.
///
/// Source: IPTC-NAA IIM 4.2, sections 1.6 and 6: `20240506`, and `070809+0200`.
package struct IPTCDates {
  /// When the content was created, as written: `20240506 070809+0200`.
  package private(set) var created: String?
  /// When it was digitized, as written.
  package private(set) var digitized: String?

  /// Reads datasets up to the first damaged one.
  package init(_ bytes: [UInt8]) {
    var values: [Int: String] = [:]
    var at = 0
    while at + 5 <= bytes.count, bytes[at] == 0x1C {
      let length = bytes[(at + 3)..<(at + 5)].number()
      // Dates never use extended datasets, whose length field has its own length.
      guard length < 0x8000, at + 5 + length <= bytes.count else { break }
      if bytes[at + 1] == 2, [55, 60, 62, 63].contains(bytes[at + 2]), length <= 32 {
        values[Int(bytes[at + 2])] = String(latin1: bytes[(at + 5)..<(at + 5 + length)])
      }
      at += 5 + length
    }
    func moment(_ date: Int, _ time: Int) -> String? {
      values[date].map { $0 + (values[time].map { " " + $0 } ?? "") }
    }
    created = moment(55, 60)
    digitized = moment(62, 63)
  }
}
