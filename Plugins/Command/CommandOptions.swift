/// The options of a stage that runs a user's program.
struct CommandOptions: Hashable, Sendable {
  /// How to use the program's standard output.
  enum Facts: String, CaseIterable, Decodable {
    /// Ignore it.
    case none
    /// It is one JSON object, or a list of one, whose members become the facts.
    case json
    /// It is text, and becomes the fact `output`.
    case text
  }

  /// The program, without placeholders.
  var program: String
  var arguments: [Template]
  /// How to use standard output; by default ignored.
  var facts = Facts.none
  /// Exit codes for success; 0 by default.
  var success: Set<Int> = [0]
  /// Exit codes that mean there was nothing to do; none by default.
  var skip: Set<Int> = []
  /// Exit codes that mean a retry may succeed; 75 by default, `EX_TEMPFAIL` of sysexits.h(3head).
  var transient: Set<Int> = [75]

  static let greatestCount = 1_000
  static let codes = 0...255
}
