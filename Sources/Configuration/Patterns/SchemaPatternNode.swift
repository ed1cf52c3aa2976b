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
