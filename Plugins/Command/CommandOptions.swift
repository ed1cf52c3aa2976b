/// The options of a stage that runs a user's program.
struct CommandOptions: Hashable, Sendable {
  /// What becomes of what the program prints.
  enum Facts: String, CaseIterable, Decodable {
    /// Nothing.
    case none
    /// It is one JSON object, or a list of one, whose members are the facts.
    case json
    /// It is text, and becomes the fact `output`.
    case text
  }

  /// The program, without places.
  var program: String
  /// What it is given.
  var arguments: [Template]
  /// What becomes of what it prints; nothing by default.
  var facts = Facts.none
  /// Exit codes that mean that the work is done; 0 by default.
  var success: Set<Int> = [0]
  /// Exit codes that mean that there was nothing to do; none by default.
  var skip: Set<Int> = []
  /// Exit codes that mean that it may work later; 75 by default, `EX_TEMPFAIL` of sysexits.h(3head).
  var transient: Set<Int> = [75]

  static let greatestCount = 1_000
  static let codes = 0...255
}
