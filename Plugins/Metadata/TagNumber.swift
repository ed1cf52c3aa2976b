import PipelineModel

/// Numbers as exiv2 prints them: `100`, `-3`, `28/10`, `0.5`, several separated by spaces.
enum TagNumber {
  /// Parses one number; returns `nil` for anything else, including fractions over zero.
  static func read(_ text: some StringProtocol) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let numerator = Double(first), numerator.isFinite else {
      return nil
    }
    guard parts.count == 2 else { return parts.count == 1 ? numerator : nil }
    guard let denominator = Double(parts[1]), denominator.isFinite, denominator != 0 else {
      return nil
    }
    // EXIF writes an infinite distance as FFFFFFFF in the numerator.
    return numerator == 4_294_967_295 ? nil : numerator / denominator
  }

  /// Parses several numbers; `nil` for entries that are not numbers.
  static func list(_ text: some StringProtocol) -> [Double?] {
    text.split(separator: " ").map { read($0) }
  }

  /// The JSON form: whole numbers as integers.
  static func json(_ number: Double) -> JSONValue {
    Int(exactly: number).map { .integer($0) } ?? .number(number)
  }
}
