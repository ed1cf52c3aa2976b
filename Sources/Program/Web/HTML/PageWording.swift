import Glibc

/// Numbers and times as pages write them.
enum PageWording {
  /// A number with commas, such as `12,345`.
  static func number(_ value: Int) -> String {
    let digits = Array(String(value.magnitude))
    var text = value < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// Bytes in decimal units, such as `19.7 GB`.
  static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var value = Double(count) / 1000
    for unit in ["kB", "MB", "GB", "TB"] {
      if value < 999.5 || unit == "TB" { return "\(three(value)) \(unit)" }
      value /= 1000
    }
    return "\(count) B"
  }

  /// At most one digit behind the point, and none from 100 on.
  static func three(_ value: Double) -> String {
    value < 99.95 ? decimal(value, 1) : number(Int(value.rounded()))
  }

  /// A number with a fixed count of digits behind the point.
  static func decimal(_ value: Double, _ digits: Int) -> String {
    let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
    let scaled = (abs(value) * scale).rounded()
    guard scaled < 1e15 else { return "\(value)" }
    let whole = Int(scaled)
    let step = Int(scale)
    let fraction = String(whole % step)
    let zeros = String(repeating: "0", count: max(0, digits - fraction.count))
    let sign = value < 0 && whole > 0 ? "-" : ""
    return digits == 0 ? "\(sign)\(whole)" : "\(sign)\(whole / step).\(zeros)\(fraction)"
  }

  /// A number without digits that say nothing, such as `2.8` and `4`.
  static func plain(_ value: Double) -> String {
    var text = decimal(value, 3)
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }

  /// The length of a film, such as `1:02:03` or `0:17`.
  static func duration(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "" }
    let whole = Int(seconds.rounded())
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let minutes = whole / 60 % 60
    return whole >= 3600
      ? "\(whole / 3600):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
  }

  /// A time span roughly, such as `21 s` or `5 min`.
  static func span(_ seconds: Int) -> String {
    switch seconds {
    case ..<90: "\(seconds) s"
    case ..<5400: "\((seconds + 30) / 60) min"
    case ..<172_800: "\((seconds + 1800) / 3600) h"
    default: "\((seconds + 43_200) / 86_400) d"
    }
  }

  /// An exposure in seconds as photographers write it, such as `1/250 s`.
  static func exposure(_ seconds: Double) -> String {
    guard seconds > 0, seconds.isFinite else { return "" }
    let part = 1 / seconds
    if seconds < 0.4, part < 1e9 { return "1/\(Int(part.rounded())) s" }
    return "\(plain(seconds)) s"
  }

  /// A point in time in UTC, such as `2026-11-24 12:13 UTC`.
  ///
  /// - Parameter text: RFC 3339 in UTC.
  static func moment(_ text: String) -> String {
    "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
  }

  /// A day, such as `Sunday, 22 November 2026`.
  ///
  /// - Parameter text: `2026-11-22`.
  static func day(_ text: String) -> String {
    let parts = text.split(separator: "-").compactMap { Int32($0) }
    guard parts.count == 3, (1...12).contains(parts[1]) else { return text }
    var time = tm()
    time.tm_year = parts[0] - 1900
    time.tm_mon = parts[1] - 1
    time.tm_mday = parts[2]
    guard timegm(&time) != -1 || parts[0] == 1969 else { return text }
    return "\(weekdays[Int(time.tm_wday)]), \(parts[2]) \(months[Int(parts[1]) - 1]) \(parts[0])"
  }

  private static let weekdays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]
}
