/// A node of a parsed pattern.
indirect enum SchemaPatternNode {
  case scalar(ScalarSet)
  case place(SchemaPattern.Assertion)
  case sequence([SchemaPatternNode])
  case choice([SchemaPatternNode])
  case repeated(SchemaPatternNode, least: Int, most: Int?)

  /// Large enough to mean “too large”, and small enough to multiply without overflow.
  static let bound = 1 << 20

  /// The number of compiled steps, at most `bound`.
  var size: Int {
    let size =
      switch self {
      case .scalar, .place: 1
      case .sequence(let parts): parts.reduce(0) { min($0 + $1.size, Self.bound) }
      case .choice(let parts): parts.reduce(-2) { min($0 + $1.size + 2, Self.bound) }
      case .repeated(let part, let least, let most):
        // A part without steps costs time to repeat, too.
        least * max(part.size, 1) + (most.map { ($0 - least) * (part.size + 1) } ?? part.size + 2)
      }
    return min(size, Self.bound)
  }

  /// Appends its steps; recurses as deep as the pattern's groups.
  func write(to steps: inout [SchemaPattern.Step]) {
    switch self {
    case .scalar(let set): steps.append(.scalar(set))
    case .place(let place): steps.append(.place(place))
    case .sequence(let parts): for part in parts { part.write(to: &steps) }
    case .choice(let parts): write(choice: parts, to: &steps)
    case .repeated(let part, let least, let most): write(part, least, most, to: &steps)
    }
  }

  private func write(choice parts: [SchemaPatternNode], to steps: inout [SchemaPattern.Step]) {
    var jumps: [Int] = []
    for part in parts.dropLast() {
      let fork = steps.count
      steps.append(.fork(0))
      part.write(to: &steps)
      jumps.append(steps.count)
      steps.append(.jump(0))
      steps[fork] = .fork(steps.count)
    }
    parts.last?.write(to: &steps)
    for jump in jumps { steps[jump] = .jump(steps.count) }
  }

  private func write(
    _ part: SchemaPatternNode, _ least: Int, _ most: Int?, to steps: inout [SchemaPattern.Step]
  ) {
    for _ in 0..<least { part.write(to: &steps) }
    guard let most else {
      let fork = steps.count
      steps.append(.fork(0))
      part.write(to: &steps)
      steps.append(.jump(fork))
      steps[fork] = .fork(steps.count)
      return
    }
    // Skipping an optional repetition jumps past all of them.
    var forks: [Int] = []
    for _ in least..<most {
      forks.append(steps.count)
      steps.append(.fork(0))
      part.write(to: &steps)
    }
    for fork in forks { steps[fork] = .fork(steps.count) }
  }
}

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
