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
    let clock = [second / 3600, second / 60 % 60, second % 60].map(pad).joined(separator: ":")
    let date = "\(civilYear)-\(pad(civilMonth))-\(pad(ofYear - (153 * month + 2) / 5 + 1))"
    return "\(date)T\(clock)Z"
  }

  /// The number of days in a month.
  package static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func pad(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
