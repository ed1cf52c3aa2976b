/// A `pattern` of a schema: a regular expression that is searched for in a time that is bounded,
/// whatever pattern and text are.
///
/// Patterns come from plugins. An engine that goes back and tries again, such as Swift's `Regex`,
/// takes exponential time for `^(a+)+$`, and its compiler a stack as deep as the groups. Here all
/// ways through the pattern are followed side by side, so a search takes at most the length of the
/// text multiplied by that of the compiled pattern.
/// Source: Thompson, “Regular Expression Search Algorithm”, 1968.
///
/// The syntax is a part of that of ECMA-262 with the flag `u`, which JSON Schema refers to:
/// characters, `.`, classes, `\d \w \s` and their opposites, `\b \B ^ $`, groups with or without a
/// name, `|`, and the quantifiers `* + ? {2} {2,} {2,3}`, also the lazy ones. Groups that look ahead
/// or behind, references to groups and `\p{…}` are refused.
struct SchemaPattern: Sendable, Hashable {
  /// The most characters of a pattern.
  static let longest = 1000
  /// How deep groups may be in each other.
  static let greatestDepth = 32
  /// The most steps of a compiled pattern, with repetitions written out.
  static let mostSteps = 2000

  /// What a way through the pattern meets.
  enum Step: Sendable, Hashable {
    case scalar(ScalarSet)
    case place(Place)
    /// Two ways: the next step, and another.
    case fork(Int)
    case jump(Int)
    case end
  }

  /// What is asked of a place between two characters.
  enum Place: Sendable, Hashable { case start, end, wordBoundary, notWordBoundary }

  let steps: [Step]

  /// Compiles a pattern.
  ///
  /// - Throws: why it can't be used, as a clause.
  init(_ pattern: String) throws(SchemaPatternError) {
    guard pattern.unicodeScalars.count <= Self.longest else {
      throw SchemaPatternError("it has more than \(Self.longest) characters")
    }
    var parser = SchemaPatternParser(pattern)
    let node = try parser.whole()
    guard node.size < Self.mostSteps else {
      throw SchemaPatternError("its repetitions make more than \(Self.mostSteps) steps")
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
