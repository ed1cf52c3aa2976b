/// The calendar, as far as numbers in files need it.
package enum CivilTime {
  /// Seconds from 1904 to 1970.
  static let unixEpoch = 2_082_844_800

  /// The date and time of a number of seconds since 1904, in UTC: `2020-05-01T12:00:00Z`.
  static func text(secondsSince1904 seconds: Int) -> String? {
    // Beyond the year 2999 it is no date but damage.
    guard seconds < 34_588_944_000 else { return nil }
    // Days since 1 March of the year 0, of which a leap day is the last of its year.
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

  /// The days of a month.
  package static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func pad(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
