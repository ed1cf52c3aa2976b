/// One thing that the program can be told to do.
protocol Verb: SendableMetatype {
  /// The word on the command line.
  static var name: String { get }
  /// One line for the list of verbs.
  static var summary: String { get }
  /// What may follow the word, for help; empty if nothing may.
  static var operands: String { get }
  /// Options besides the common ones.
  static var options: [Option] { get }
  /// Command lines and what they do.
  static var examples: [(String, String)] { get }

  /// Does it.
  static func run(_ context: Context) throws -> ExitCode
}

extension Verb {
  static var operands: String { "" }
  static var options: [Option] { [] }
}

/// What the program ends with; `README.md` lists them for scripts.
enum ExitCode: Int32, Sendable {
  case success = 0
  case fatal = 1
  case usage = 2
  case someFailed = 3
  case locked = 11
  case interrupted = 130
  case terminated = 143
}
