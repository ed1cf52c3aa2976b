/// A set of Unicode scalars as sorted ranges that are not adjacent.
struct ScalarSet: Sendable, Hashable {
  let ranges: [ClosedRange<UInt32>]

  init(_ ranges: [ClosedRange<UInt32>]) {
    var merged: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    self.ranges = merged
  }

  init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }

  var complement: ScalarSet {
    var gaps: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for range in ranges {
      if range.lowerBound > next { gaps.append(next...(range.lowerBound - 1)) }
      next = range.upperBound + 1
    }
    if next <= 0x10FFFF { gaps.append(next...0x10FFFF) }
    return ScalarSet(gaps)
  }

  /// Searches by bisection.
  func contains(_ scalar: Unicode.Scalar) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= scalar.value
  }

  // Source: ECMA-262, “CharacterClassEscape”, “WhiteSpace” and “LineTerminator”.

  static let digits = ScalarSet([0x30...0x39])
  static let words = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  static let spaces = ScalarSet([
    0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029,
    0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
  ])
  static let lineEnds = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])
}
