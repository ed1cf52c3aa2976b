/// A subcommand.
protocol Verb: SendableMetatype {
  static var name: String { get }
  /// One line for the list of verbs.
  static var summary: String { get }
  /// The operands in help; empty if there are none.
  static var operands: String { get }
  /// Options in addition to the common ones.
  static var options: [Option] { get }
  /// Command lines, each with a description.
  static var examples: [(String, String)] { get }

  static func run(_ context: Context) throws -> ExitCode
}

extension Verb {
  static var operands: String { "" }
  static var options: [Option] { [] }
}

/// The exit codes, which `README.md` documents for scripts.
enum ExitCode: Int32, Sendable {
  case success = 0
  case fatal = 1
  case usage = 2
  case someFailed = 3
  case locked = 11
  case interrupted = 130
  case terminated = 143
}
