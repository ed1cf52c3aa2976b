import PipelineModel
import Query

/// The texts of `--help`.
enum Help {
  static func overview(_ verbs: [any Verb.Type]) -> String {
    let width = verbs.map { $0.name.count }.max() ?? 0
    let list = verbs.map { "  \($0.name.padded(to: width))  \($0.summary)" }.joined(separator: "\n")
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
    let examples = verb.examples.map { "  \($0.0.padded(to: width))  \($0.1)" }
    let details = verb.details.map { details in
      let width = details.rows.map(\.0.count).max() ?? 0
      let rows = details.rows.map { "  \($0.0.padded(to: width))  \($0.1)" }
      return "\n\(details.title):\n\(rows.joined(separator: "\n"))\n"
    }
    return """
      \(verb.summary)

      Usage: pipeline \(verb.name)\(operands) [OPTIONS]

      Options:
      \(describe(verb.options + Option.common))
      \(details ?? "")
      Examples:
      \(examples.joined(separator: "\n"))
      """
  }

  /// The words of queries, from the tables that parse them.
  static var query: String {
    func lines(_ rows: [(String, String)]) -> String {
      rows.map { "  \($0.0.padded(to: 12))  \($0.1)" }.joined(separator: "\n")
    }
    return """
      A query is a list of words that must all hold. “or”, “-” or “not”, and brackets combine them;
      quotes keep spaces together. For a shell, quote the whole query.

        camera:fuji         contains, without case and accents; camera:fuji,leica is one of
        camera="FUJIFILM X-T5"  is exactly this; camera= has none; camera:* has any
        name:*.jpg          a pattern with * and ?
        rating>=4  iso:100..800  size>20MB  exposure<=1/250
        taken:2024-05       the whole month; also 2024, 2024-05-17, a..b, a.., ..b, today, 7d, <, >=
        near:48.14,11.58,10km
        summer lake*        words of name, path, title, caption, tags, camera and lens
        @keepers            the query that `search save` gave this name

      Fields:
      \(lines(Field.all.map { ($0.name, $0.summary) }))

      States, such as is:trashed:
      \(lines(Flag.allCases.map { ($0.rawValue, $0.summary) }))

      Values that are there, such as has:gps: “gps” or any field.

      Examples:
        pipeline list camera:fuji taken:2024-05 -tag:private
        pipeline list '(rating>=4 or tag:keep) -is:trashed' --sort -taken --limit 50
        pipeline count type:raw --group-by camera
      """
  }

  private static func describe(_ options: [Option]) -> String {
    let names = options.map { option in
      [option.short, option.name].compactMap(\.self).joined(separator: ", ")
        + (option.value.map { " \($0)" } ?? "")
    }
    let width = names.map(\.count).max() ?? 0
    return zip(names, options).map { "  \($0.padded(to: width))  \($1.help)" }.joined(
      separator: "\n")
  }
}
