import LibrarySession
import PipelineModel
import Query

/// A page of the manual, in the macros of man(7).
struct ManPage {
  let name: String
  let section: Int
  let text: String

  var fileName: String { "\(name).\(section)" }

  /// The pages of the program, of all verbs and of queries.
  static func all(_ verbs: [any Verb.Type]) -> [ManPage] {
    [overview(verbs), queries] + verbs.map(page)
  }

  private static func overview(_ verbs: [any Verb.Type]) -> ManPage {
    var page = Roff(title: "pipeline", section: 1)
    page.section("NAME")
    page.line("pipeline \\- keeps pictures, records them, and makes thumbnails of them")
    page.section("SYNOPSIS")
    page.line("\\fBpipeline\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]")
    page.section("DESCRIPTION")
    page.text(
      "pipeline takes files from watch folders into a content-addressed library, records each under a "
        + "UUID, and makes thumbnails and more of them. Each verb has a page of its own, such as "
        + "pipeline-run(1); pipeline-query(7) describes the words that find assets.")
    page.section("VERBS")
    for verb in verbs { page.item("\\fB\(Roff.escaped(verb.name))\\fR", verb.summary) }
    page.section("OPTIONS OF ALL VERBS")
    page.options(Option.common)
    page.exitStatus()
    page.section("FILES")
    page.item(
      "\\fIpipeline.json\\fR",
      "The configuration: in the working folder, else in ~/.config/pipeline, else in /etc/pipeline."
    )
    page.section("SEE ALSO")
    page.line(
      verbs.map { "\\fBpipeline\\-\(Roff.escaped($0.name))\\fR(1)" }.joined(separator: ", "))
    return ManPage(name: "pipeline", section: 1, text: page.source)
  }

  private static func page(_ verb: any Verb.Type) -> ManPage {
    let name = "pipeline-\(verb.name)"
    var page = Roff(title: name, section: 1)
    page.section("NAME")
    page.line("\(Roff.escaped(name)) \\- \(Roff.escaped(verb.summary))")
    page.section("SYNOPSIS")
    page.line(
      "\\fBpipeline \(Roff.escaped(verb.name))\\fR \(Roff.escaped(verb.operands)) [\\fIOPTIONS\\fR]"
    )
    page.section("DESCRIPTION")
    page.text("\(verb.summary).")
    if verb.takesQuery { page.text("pipeline-query(7) describes the words of a query.") }
    if !verb.options.isEmpty {
      page.section("OPTIONS")
      page.options(verb.options)
    }
    page.section("OPTIONS OF ALL VERBS")
    page.options(Option.common)
    if let details = verb.details {
      page.section(details.title.uppercased())
      for (term, meaning) in details.rows { page.item("\\fB\(Roff.escaped(term))\\fR", meaning) }
    }
    page.exitStatus()
    page.section("EXAMPLES")
    for (command, description) in verb.examples {
      page.item("\\fB\(Roff.escaped(command))\\fR", description)
    }
    page.section("SEE ALSO")
    page.line("\\fBpipeline\\fR(1)\(verb.takesQuery ? ", \\fBpipeline\\-query\\fR(7)" : "")")
    return ManPage(name: name, section: 1, text: page.source)
  }

  private static var queries: ManPage {
    var page = Roff(title: "pipeline-query", section: 7)
    page.section("NAME")
    page.line("pipeline\\-query \\- the words that find assets")
    page.section("DESCRIPTION")
    page.verbatim(Help.query)
    page.section("SEE ALSO")
    page.line(
      "\\fBpipeline\\-list\\fR(1), \\fBpipeline\\-count\\fR(1), \\fBpipeline\\-export\\fR(1)")
    return ManPage(name: "pipeline-query", section: 7, text: page.source)
  }
}

/// The source of a man page. Source: man(7), groff_man(7).
private struct Roff {
  private(set) var source: String

  init(title: String, section: Int) {
    source = """
      .\\" Made by `pipeline help --man-pages`.
      .TH "\(Self.escaped(title.uppercased()))" "\(section)" "" "pipeline \(programVersion)"
      .nh
      .ad l

      """
  }

  /// The text with what groff would interpret, or can't read, escaped.
  static func escaped(_ text: String) -> String {
    let escapes: [Unicode.Scalar: String] = [
      "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", "…": "...",
    ]
    let escaped = text.unicodeScalars.map { scalar in
      if let escape = escapes[scalar] { return escape }
      if scalar.isASCII { return String(scalar) }
      let digits = String(scalar.value, radix: 16, uppercase: true)
      return "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
    }.joined()
    // A line that begins with a dot would be a request.
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }

  mutating func line(_ source: String) { self.source += source + "\n" }
  mutating func section(_ title: String) { line(".SH \(title)") }

  mutating func text(_ text: String) {
    line(".PP")
    line(Self.escaped(text))
  }

  /// - Parameter term: in roff.
  mutating func item(_ term: String, _ text: String) {
    line(".TP")
    line(term)
    line(Self.escaped(text))
  }

  mutating func options(_ options: [Option]) {
    for option in options {
      let names = [option.short, option.name].compactMap(\.self)
        .map { "\\fB\(Self.escaped($0))\\fR" }.joined(separator: ", ")
      item(names + (option.value.map { " \\fI\(Self.escaped($0))\\fR" } ?? ""), option.help)
    }
  }

  mutating func verbatim(_ text: String) {
    line(".nf")
    for piece in text.split(separator: "\n", omittingEmptySubsequences: false) {
      line(piece.isEmpty ? ".sp" : Self.escaped(String(piece)))
    }
    line(".fi")
  }

  mutating func exitStatus() {
    section("EXIT STATUS")
    for (codes, meaning) in ExitCode.meanings { item("\\fB\(codes)\\fR", meaning) }
  }
}
