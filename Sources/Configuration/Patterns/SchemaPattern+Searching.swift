extension SchemaPattern {
  /// Whether the pattern matches anywhere in a text, as in ECMA-262.
  ///
  /// - Parameter budget: the number of steps allowed, reduced by those taken.
  /// - Returns: `nil` if the budget is exhausted.
  func isFound(in text: String, budget: inout Int) -> Bool? {
    let text = Array(text.unicodeScalars)
    var ways = ActiveStates(steps)
    for place in 0...text.count {
      ways.begin(at: place, of: text)
      budget -= ways.cost
      if ways.hasArrived { return true }
      if budget < 0 { return nil }
      if place < text.count { ways.advance(text[place], at: place + 1, of: text) }
    }
    return false
  }

  /// The active paths through a pattern at a position in a text.
  private struct ActiveStates {
    let steps: [Step]
    /// The steps waiting for a character, in any order.
    private var open: [Int] = []
    /// For each step, the last position at which a path reached it.
    private var seen: [Int]
    private var waiting: [Int] = []
    private(set) var hasArrived = false
    /// The number of steps since `cost` was last read.
    private var taken = 0

    init(_ steps: [Step]) {
      self.steps = steps
      seen = Array(repeating: -1, count: steps.count)
    }

    var cost: Int {
      mutating get {
        defer { taken = 0 }
        return taken + 1
      }
    }

    /// Starts a path at a position.
    mutating func begin(at place: Int, of text: [Unicode.Scalar]) {
      follow(0, at: place, of: text)
    }

    /// Consumes a character and advances to the next position.
    mutating func advance(_ scalar: Unicode.Scalar, at place: Int, of text: [Unicode.Scalar]) {
      let before = open
      open.removeAll(keepingCapacity: true)
      taken += before.count
      for step in before {
        if case .scalar(let set) = steps[step], set.contains(scalar) {
          follow(step + 1, at: place, of: text)
        }
      }
    }

    /// Follows a path and its forks until each waits for a character.
    private mutating func follow(_ step: Int, at place: Int, of text: [Unicode.Scalar]) {
      waiting.append(step)
      while let step = waiting.popLast() {
        if seen[step] == place { continue }
        seen[step] = place
        taken += 1
        switch steps[step] {
        case .scalar: open.append(step)
        case .place(let wanted):
          if Self.is(place, wanted, of: text) { waiting.append(step + 1) }
        case .fork(let other):
          waiting.append(other)
          waiting.append(step + 1)
        case .jump(let target): waiting.append(target)
        case .end: hasArrived = true
        }
      }
    }

    private static func `is`(
      _ place: Int, _ wanted: SchemaPattern.Assertion, of text: [Unicode.Scalar]
    ) -> Bool {
      switch wanted {
      case .start: return place == 0
      case .end: return place == text.count
      case .wordBoundary, .notWordBoundary:
        let isBehindWord = place > 0 && ScalarSet.words.contains(text[place - 1])
        let isBeforeWord = place < text.count && ScalarSet.words.contains(text[place])
        return (isBehindWord != isBeforeWord) == (wanted == .wordBoundary)
      }
    }
  }
}
