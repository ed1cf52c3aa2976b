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

  /// An instruction of the compiled pattern.
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

/// Why a pattern can't be used.
struct SchemaPatternError: Error, Hashable {
  /// A clause, such as: a group has no end.
  let message: String

  init(_ message: String) { self.message = message }
}
