/// A number of bytes as written in the configuration: `64KiB`, `1GiB`, `0`.
public struct ByteSize: Hashable, Sendable, CustomStringConvertible {
  /// The number of bytes, never negative.
  public let bytes: Int

  public init(bytes: Int) { self.bytes = bytes }

  private static let units: [Unit] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1),
  ]

  /// Parses an integer with an optional unit: `B`, `KiB`, `MiB`, `GiB` or `TiB`.
  public init?(_ text: String) {
    let unit = Self.units.first { text.hasSuffix($0.name) } ?? ("", 1)
    guard let bytes = amount(text, unit) else { return nil }
    self.bytes = bytes
  }

  /// The exact size in the notation of the configuration: `4GiB`, `1000B`.
  package var notation: String {
    let unit = Self.units.dropLast().last {
      bytes >= $0.factor && bytes.isMultiple(of: $0.factor)
    }
    guard let unit else { return "\(bytes)B" }
    return "\(bytes / unit.factor)\(unit.name)"
  }

  /// The size for display, with one decimal: `1.4 MiB`.
  public var description: String {
    for unit in Self.units.dropLast().reversed() where bytes >= unit.factor {
      let tenths = (Double(bytes) / Double(unit.factor) * 10).rounded()
      let whole = Int(tenths) / 10
      let decimal = Int(tenths) % 10
      return decimal == 0 ? "\(whole) \(unit.name)" : "\(whole).\(decimal) \(unit.name)"
    }
    return "\(bytes) bytes"
  }
}

/// A time span as written in the configuration: `250ms`, `2s`, `5m`, `1h`, `7d`.
public struct TimeSpan: Hashable, Sendable, CustomStringConvertible {
  /// The span in milliseconds, never negative.
  public let milliseconds: Int

  public init(milliseconds: Int) { self.milliseconds = milliseconds }

  private static let units: [Unit] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Parses an integer with a unit: `ms`, `s`, `m`, `h` or `d`.
  public init?(_ text: String) {
    guard let unit = Self.units.first(where: { text.hasSuffix($0.name) }),
      let milliseconds = amount(text, unit)
    else { return nil }
    self.milliseconds = milliseconds
  }

  /// The span in seconds.
  public var seconds: Double { Double(milliseconds) / 1000 }

  /// The span as a standard library `Duration`.
  public var duration: Duration { .milliseconds(milliseconds) }

  /// The span in the largest unit without a remainder: `2s`.
  public var description: String {
    let unit = Self.units.last { milliseconds >= $0.factor && milliseconds % $0.factor == 0 }
    guard let unit else { return "\(milliseconds)ms" }
    return "\(milliseconds / unit.factor)\(unit.name)"
  }
}

/// A unit and how many of the smallest it has.
private typealias Unit = (name: String, factor: Int)

/// Parses an integer followed by a unit; `nil` if it is none or too large.
private func amount(_ text: String, _ unit: Unit) -> Int? {
  // `Int` would also accept a sign.
  guard let first = text.first, "0"..."9" ~= first, let count = Int(text.dropLast(unit.name.count))
  else { return nil }
  let (amount, overflow) = count.multipliedReportingOverflow(by: unit.factor)
  return overflow ? nil : amount
}
