/// A command-line option.
struct Option: Hashable, Sendable {
  /// The long form, with dashes.
  let name: String
  /// The short form, with its dash.
  var short: String?
  /// The placeholder of its value in help; `nil` for a switch.
  var value: String?
  let help: String

  static let config = Option(
    name: "--config", value: "FILE",
    help: "use this configuration (else $PIPELINE_CONFIG, ./pipeline.json, …)")
  static let json = Option(name: "--json", help: "print one JSON object a line")
  static let quiet = Option(name: "--quiet", short: "-q", help: "print errors only")
  static let verbose = Option(
    name: "--verbose", short: "-v", help: "say what happens to each file")
  static let noColor = Option(name: "--no-color", help: "no colours on a terminal")
  static let help = Option(name: "--help", short: "-h", help: "print this help")
  static let version = Option(name: "--version", help: "print the version")
  static let wait = Option(
    name: "--wait", value: "DURATION", help: "wait this long for the library's lock, e.g. 30s")
  static let dryRun = Option(
    name: "--dry-run", short: "-n", help: "report what would be done, change nothing")
  static let yes = Option(
    name: "--yes", short: "-y", help: "don't ask, whatever the number")
  static let acceptMissing = Option(
    name: "--accept-missing",
    help: "record files as gone, however many of a source are missing")

  /// Options of every verb.
  static let common = [config, json, quiet, verbose, noColor, help, version]
}
