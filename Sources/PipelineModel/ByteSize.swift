/// A number of bytes as written in the configuration: `64KiB`, `1GiB`, `0`.
public struct ByteSize: Hashable, Sendable {
  /// The number of bytes, never negative.
  public let bytes: Int

  /// Creates a size from a number of bytes.
  public init(bytes: Int) { self.bytes = bytes }

  private static let units: [(name: String, factor: Int)] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1),
  ]

  /// Parses an integer with an optional unit: `B`, `KiB`, `MiB`, `GiB` or `TiB`.
  public init?(_ text: String) {
    let unit = Self.units.first { text.hasSuffix($0.name) } ?? ("", 1)
    // `Int` would also accept a sign.
    guard text.first?.isASCIIDigit == true, let count = Int(text.dropLast(unit.name.count)) else {
      return nil
    }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { return nil }
    self.bytes = bytes
  }
}

extension ByteSize: CustomStringConvertible {
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

extension Character {
  var isASCIIDigit: Bool { "0"..."9" ~= self }
}
