import Files
import PipelineModel

/// `pipeline help`: prints the same as `--help`.
enum HelpVerb: Verb {
  static let name = "help"
  static let summary = "Print this, or the help of a verb"
  static let operands = "[VERB|query]"
  static let manPages = Option(
    name: "--man-pages", value: "DIR", help: "write the man pages of all verbs to this folder")
  static let options = [manPages]
  static let examples = [
    ("pipeline help", "all verbs"),
    ("pipeline help run", "like run --help"),
    ("pipeline help query", "the words that find assets"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    if let folder = context.arguments.path(manPages) {
      let folder = try Descriptor.openFolder(context.path(folder))
      for page in ManPage.all(Pipeline.verbs) {
        try folder.writeDurably(Array(page.text.utf8), as: BytePath(page.fileName), mode: 0o644)
      }
      return .success
    }
    // Further words such as in `trash list` have no help of their own.
    guard let verb = context.arguments.operands.first else {
      context.console.result(lines: Help.overview(Pipeline.verbs))
      return .success
    }
    let text = verb == "query" ? Help.query : Help.text(try Pipeline.find(verb.description))
    context.console.result(lines: text)
    return .success
  }
}
