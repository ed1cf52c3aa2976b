/// An option as a verb declares it.
struct Option: Hashable, Sendable {
  /// The long form, with its dashes.
  let name: String
  /// The short form, with its dash.
  var short: String?
  /// What its value is called in help; `nil` for a switch.
  var value: String?
  /// What it does, for help.
  let help: String

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
    name: "--wait", value: "DURATION", help: "wait that long for the library's lock, e.g. 30s")
  static let dryRun = Option(
    name: "--dry-run", short: "-n", help: "say what would be done, change nothing")
  static let yes = Option(
    name: "--yes", short: "-y", help: "don't ask, however many they are")
  static let acceptMissing = Option(
    name: "--accept-missing",
    help: "believe that files are gone, however many of a source's are missing")

  /// Options that every verb has.
  static let common = [config, json, quiet, verbose, noColor, help, version]
}
