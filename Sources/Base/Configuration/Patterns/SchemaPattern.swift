/// A `pattern` of a schema: a regular expression that matches in bounded time.
///
/// Patterns come from plugins. A backtracking engine such as Swift's `Regex` takes exponential
/// time for `^(a+)+$`, and its compiler a stack as deep as the groups. This one follows all paths
/// through the pattern in parallel, so a search takes at most the length of the text multiplied
/// by that of the compiled pattern.
/// Source: Thompson, “Regular Expression Search Algorithm”, 1968.
///
/// The syntax is a subset of ECMA-262 with the flag `u`, to which JSON Schema refers:
/// characters, `.`, classes, `\d \w \s` and their complements, `\b \B ^ $`, named and unnamed
/// groups, `|`, and the quantifiers `* + ? {2} {2,} {2,3}` including lazy ones. Lookahead,
/// lookbehind, backreferences and `\p{…}` are rejected.
struct SchemaPattern: Sendable, Hashable {
  /// The most characters of a pattern.
  static let longest = 1000
  /// The maximum nesting depth of groups.
  static let greatestDepth = 32
  /// The most steps of a compiled pattern, with repetitions expanded.
  static let mostSteps = 2000

  enum Step: Sendable, Hashable {
    case scalar(ScalarSet)
    case place(Assertion)
    /// Continues both at the next step and at another.
    case fork(Int)
    case jump(Int)
    case end
  }

  /// A condition on a position between two characters.
  enum Assertion: Sendable, Hashable { case start, end, wordBoundary, notWordBoundary }

  let steps: [Step]

  /// Compiles a pattern.
  ///
  /// - Throws: the reason why it can't be used, as a clause.
  init(_ pattern: String) throws(SchemaPatternError) {
    guard pattern.unicodeScalars.count <= Self.longest else {
      throw SchemaPatternError("it has more than \(Self.longest) characters")
    }
    var parser = SchemaPatternParser(pattern)
    let node = try parser.whole()
    guard node.size < Self.mostSteps else {
      throw SchemaPatternError("its repetitions expand to more than \(Self.mostSteps) steps")
    }
    var steps: [Step] = []
    node.write(to: &steps)
    self.steps = steps + [.end]
  }
}

struct SchemaPatternError: Error, Hashable {
  /// A clause, such as: a group has no end.
  let message: String

  init(_ message: String) { self.message = message }
}

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
