/// A subcommand.
protocol Verb: SendableMetatype {
  static var name: String { get }
  /// One line for the list of verbs.
  static var summary: String { get }
  /// The operands in help; empty if there are none.
  static var operands: String { get }
  /// Whether the operands are a query, so that a word may begin with a dash.
  static var takesQuery: Bool { get }
  /// Options in addition to the common ones.
  static var options: [Option] { get }
  /// A table of what options or operands may contain, with its title.
  static var details: (title: String, rows: [(String, String)])? { get }
  /// Command lines, each with a description.
  static var examples: [(String, String)] { get }

  static func run(_ context: Context) throws -> ExitCode
}

extension Verb {
  static var operands: String { "" }
  static var options: [Option] { [] }
  static var takesQuery: Bool { false }
  static var details: (title: String, rows: [(String, String)])? { nil }
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

  /// What each means, as in help.
  static let meanings: [(codes: String, meaning: String)] = [
    ("0", "all well"), ("1", "fatal"), ("2", "usage or configuration"),
    ("3", "something failed in this run"), ("11", "another instance holds the library"),
    ("130 and 143", "ended by a signal"),
  ]
}

/// A command-line option.
struct Option: Hashable, Sendable {
  /// The long form, with dashes.
  let name: String
  /// The short form, with its dash.
  var short: String?
  /// The placeholder of its value in help; `nil` for a switch.
  var value: String?
  let help: String
  /// The values that it has, where these are few; for completions.
  var values: [String] = []
  /// Whether it may be given several times, with another value each.
  var isRepeatable = false

  static let config = Option(
    name: "--config", value: "FILE",
    help: "use this configuration (else $PIPELINE_CONFIG, ./pipeline.json, …)")
  static let json = Option(name: "--json", help: "print one JSON object a line")
  static let quiet = Option(name: "--quiet", short: "-q", help: "print errors only")
  static let verbose = Option(name: "--verbose", short: "-v", help: "say what happens to each file")
  static let noColor = Option(name: "--no-color", help: "no colours on a terminal")
  static let help = Option(name: "--help", short: "-h", help: "print this help")
  static let version = Option(name: "--version", help: "print the version")
  static let wait = Option(
    name: "--wait", value: "DURATION", help: "wait this long for the library's lock, e.g. 30s")
  static let dryRun = Option(
    name: "--dry-run", short: "-n", help: "report what would be done, change nothing")
  static let metrics = Option(
    name: "--metrics", value: "FILE",
    help: "replace this file with metrics for Prometheus at the end")
  static let untilIdle = Option(
    name: "--until-idle", help: "end when no job is ready or running")
  static let yes = Option(name: "--yes", short: "-y", help: "don't ask, whatever the number")
  static let acceptMissing = Option(
    name: "--accept-missing",
    help: "record files as gone, however many of a source are missing")

  /// Options of every verb.
  static let common = [config, json, quiet, verbose, noColor, help, version]
}
