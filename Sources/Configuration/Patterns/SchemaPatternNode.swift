/// A part of a pattern before it is compiled.
indirect enum SchemaPatternNode {
  case scalar(ScalarSet)
  case place(SchemaPattern.Place)
  case sequence([SchemaPatternNode])
  case choice([SchemaPatternNode])
  case repeated(SchemaPatternNode, least: Int, most: Int?)

  /// Large enough for “too large”, and small enough to be multiplied.
  static let bound = 1 << 20

  /// How many steps it makes; `bound` where there are more.
  var size: Int {
    let size =
      switch self {
      case .scalar, .place: 1
      case .sequence(let parts): parts.reduce(0) { min($0 + $1.size, Self.bound) }
      case .choice(let parts): parts.reduce(-2) { min($0 + $1.size + 2, Self.bound) }
      case .repeated(let part, let least, let most):
        // What makes no steps is written out all the same.
        least * max(part.size, 1) + (most.map { ($0 - least) * (part.size + 1) } ?? part.size + 2)
      }
    return min(size, Self.bound)
  }

  /// Adds its steps; as deep as the pattern's groups.
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
    // Each that may be left out leads to the end of all.
    var forks: [Int] = []
    for _ in least..<most {
      forks.append(steps.count)
      steps.append(.fork(0))
      part.write(to: &steps)
    }
    for fork in forks { steps[fork] = .fork(steps.count) }
  }
}
