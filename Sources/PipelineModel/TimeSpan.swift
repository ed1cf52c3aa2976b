/// A time span as written in the configuration: `250ms`, `2s`, `5m`, `1h`, `7d`.
public struct TimeSpan: Hashable, Sendable {
  /// The span in milliseconds, never negative.
  public let milliseconds: Int

  /// Creates a span from milliseconds.
  public init(milliseconds: Int) { self.milliseconds = milliseconds }

  private static let units: [(name: String, factor: Int)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Parses an integer with a unit: `ms`, `s`, `m`, `h` or `d`.
  public init?(_ text: String) {
    // `Int` would also accept a sign.
    guard text.first?.isASCIIDigit == true,
      let unit = Self.units.first(where: { text.hasSuffix($0.name) }),
      let count = Int(text.dropLast(unit.name.count))
    else { return nil }
    let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { return nil }
    self.milliseconds = milliseconds
  }

  /// The span in seconds.
  public var seconds: Double { Double(milliseconds) / 1000 }

  /// The span as a standard library `Duration`.
  public var duration: Duration { .milliseconds(milliseconds) }
}

extension TimeSpan: CustomStringConvertible {
  /// The span in the largest unit without a remainder: `2s`.
  public var description: String {
    let unit = Self.units.last { milliseconds >= $0.factor && milliseconds % $0.factor == 0 }
    guard let unit else { return "\(milliseconds)ms" }
    return "\(milliseconds / unit.factor)\(unit.name)"
  }
}
