import FoundationEssentials

/// A point in time, in microseconds since 1970 in UTC.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microseconds: Int64

  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// The system clock's current time.
  public static var now: Timestamp {
    Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded()))
  }

  /// The timestamp as RFC 3339 in UTC with milliseconds.
  public var rfc3339: String {
    // Seconds and milliseconds separately, because a single floating-point number loses the last
    // digit.
    let milliseconds = Int((microseconds % 1_000_000 + 1_000_000) % 1_000_000) / 1000
    let seconds = (Double(microseconds) / 1_000_000).rounded(.down)
    let whole = Date(timeIntervalSince1970: seconds).formatted(Date.ISO8601FormatStyle())
    return "\(whole.dropLast()).\(String(1000 + milliseconds).dropFirst())Z"
  }

  /// Parses RFC 3339.
  public init?(rfc3339 text: String) {
    let styles = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
    guard let date = styles.lazy.compactMap({ try? $0.parse(text) }).first else { return nil }
    microseconds = Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
  }

  /// Adds seconds; saturates if the result can't be represented.
  public func adding(seconds: Double) -> Timestamp {
    let step =
      Int64(exactly: (seconds * 1_000_000).rounded(.towardZero)) ?? (seconds < 0 ? .min : .max)
    let (sum, isOver) = microseconds.addingReportingOverflow(step)
    return Timestamp(microseconds: isOver ? (step < 0 ? .min : .max) : sum)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microseconds < right.microseconds
  }
}
