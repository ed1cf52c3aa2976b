import PipelineModel

/// `pipeline help`: prints the same as `--help`.
enum HelpVerb: Verb {
  static let name = "help"
  static let summary = "Print this, or the help of a verb"
  static let operands = "[VERB]"
  static let examples = [
    ("pipeline help", "all verbs"),
    ("pipeline help run", "like run --help"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    // Further words such as in `trash list` have no help of their own.
    guard let verb = context.arguments.operands.first else {
      context.console.result(lines: Help.overview(Pipeline.verbs))
      return .success
    }
    context.console.result(lines: Help.text(try Pipeline.find(verb.description)))
    return .success
  }
}
