import PipelineModel

/// `pipeline help`: what `--help` prints.
enum HelpVerb: Verb {
  static let name = "help"
  static let summary = "Print this, or the help of a verb"
  static let operands = "[VERB]"
  static let examples = [
    ("pipeline help", "all verbs"),
    ("pipeline help run", "as run --help"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    // What follows is a word of the verb, such as `trash list`, whose help is the verb's.
    guard let verb = context.arguments.operands.first else {
      context.console.result(lines: Help.overview(Pipeline.verbs))
      return .success
    }
    context.console.result(lines: Help.text(try Pipeline.find(verb.description)))
    return .success
  }
}
