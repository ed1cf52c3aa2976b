/// The texts of `--help`.
enum Help {
  static func overview(_ verbs: [any Verb.Type]) -> String {
    let width = verbs.map { $0.name.count }.max() ?? 0
    let list = verbs.map { "  \(pad($0.name, width))  \($0.summary)" }.joined(separator: "\n")
    return """
      pipeline keeps pictures: takes files from watch folders into a content-addressed
      library, records each under a UUID, and makes thumbnails and more of them.

      Usage: pipeline VERB [OPTIONS] [ARGUMENTS]

      Verbs:
      \(list)

      Options of all verbs:
      \(describe(Option.common))

      Examples:
        pipeline init ~/pictures     make a configuration, an inbox and a library
        pipeline run                 take what is in the inbox and make thumbnails
        pipeline run --help          more on one verb

      Exit codes: 0 all well, 1 fatal, 2 usage or configuration, 3 something failed in
      this run, 11 another instance holds the library, 130 and 143 ended by a signal.
      """
  }

  static func text(_ verb: any Verb.Type) -> String {
    let operands = verb.operands.isEmpty ? "" : " \(verb.operands)"
    let width = verb.examples.map(\.0.count).max() ?? 0
    let examples = verb.examples.map { "  \(pad($0.0, width))  \($0.1)" }
    return """
      \(verb.summary)

      Usage: pipeline \(verb.name)\(operands) [OPTIONS]

      Options:
      \(describe(verb.options + Option.common))

      Examples:
      \(examples.joined(separator: "\n"))
      """
  }

  private static func describe(_ options: [Option]) -> String {
    let names = options.map { option in
      [option.short, option.name].compactMap(\.self).joined(separator: ", ")
        + (option.value.map { " \($0)" } ?? "")
    }
    let width = names.map(\.count).max() ?? 0
    return zip(names, options).map { "  \(pad($0, width))  \($1.help)" }.joined(separator: "\n")
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
