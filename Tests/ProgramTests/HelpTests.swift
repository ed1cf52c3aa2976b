import Testing

@testable import pipeline

/// What `--help` prints.
@Suite("Help", .timeLimit(.minutes(1)))
struct HelpTests {
  @Test("Every verb is listed, and has a help of its own with examples")
  func verbs() {
    let overview = Help.overview(Pipeline.verbs).split(separator: "\n")
    for verb in Pipeline.verbs {
      let lines = overview.filter { $0.hasPrefix("  \(verb.name) ") }
      #expect(lines.count == 1 && lines.allSatisfy { $0.hasSuffix("  \(verb.summary)") })
      let help = Help.text(verb)
      #expect(help.hasPrefix("\(verb.summary)\n\nUsage: pipeline \(verb.name) "))
      #expect(help.contains("\nExamples:\n  pipeline \(verb.name)"), "\(verb.name)")
    }
  }

  @Test("Help and manual give exit codes the same meanings")
  func exitCodes() {
    let help = Help.overview(Pipeline.verbs).split { $0 == " " || $0 == "\n" }
      .joined(separator: " ")
    for (codes, meaning) in ExitCode.meanings { #expect(help.contains("\(codes) \(meaning)")) }
  }

  @Test("No two verbs have one name")
  func names() {
    #expect(Set(Pipeline.verbs.map { $0.name }).count == Pipeline.verbs.count)
  }
}
