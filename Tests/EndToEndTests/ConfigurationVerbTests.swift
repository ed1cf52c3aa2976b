import Fixtures
import Glibc
import PipelineModel
import Testing

/// Configurations that are wrong: told with a pointer, before anything is touched.
@Suite("Configuration", .timeLimit(.minutes(10)))
struct ConfigurationVerbTests {
  /// A mistake, the pointer that has to name it, and a word of the message.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let text: String
    let pointer: String?
    let word: String
    var testDescription: String { "\(pointer ?? "no JSON") \(word)" }
  }

  private static func thumbnails(_ members: String) -> String {
    """
    {"library": "library", "sources": [{"path": "inbox"}], "stages": [
      {"name": "identify", "plugin": "identify"},
      {"name": "thumbnails", "plugin": "thumbnail", \(members)}]}
    """
  }

  static let mistakes = [
    Mistake(
      text: #"{"library": "library", "sources": [], "stages": [], "sorces": 1}"#,
      pointer: "/sorces", word: "sources"),
    Mistake(
      text: #"{"sources": [{"path": "inbox", "mode": "mvoe"}], "stages": []}"#,
      pointer: "/sources/0/mode", word: "move"),
    Mistake(
      text: #"{"sources": [{"path": "inbox", "settle": "2 weeks"}], "stages": []}"#,
      pointer: "/sources/0/settle", word: "2 weeks"),
    Mistake(
      text: #"{"sources": [{"path": "inbox", "recursive": "yes"}], "stages": []}"#,
      pointer: "/sources/0/recursive", word: "true"),
    Mistake(
      text: #"{"sources": [], "stages": [], "memoryBudget": "4 gigs"}"#,
      pointer: "/memoryBudget", word: "4 gigs"),
    Mistake(
      text: thumbnails(#""needs": ["identfy"]"#), pointer: "/stages/1/needs/0", word: "identify"),
    Mistake(
      text: thumbnails(#""needs": ["thumbnails"]"#), pointer: "/stages/1/needs/0",
      word: "wait for each other"),
    Mistake(
      text: thumbnails(#""concurency": 2"#), pointer: "/stages/1/concurency", word: "concurrency"),
    Mistake(
      text: thumbnails(#""options": {"qualty": 80}"#), pointer: "/stages/1/options/qualty",
      word: "quality"),
    Mistake(
      text: thumbnails(#""options": {"quality": 800}"#), pointer: "/stages/1/options/quality",
      word: "100"),
    Mistake(
      text: thumbnails(#""options": {"sizes": [{"name": "a", "maxPixelSize": "big"}]}"#),
      pointer: "/stages/1/options/sizes/0/maxPixelSize", word: "whole number"),
    Mistake(
      text: #"{"library": "l", "sources": [], "stages": [{"name": "t", "plugin": "thumbnial"}]}"#,
      pointer: "/stages/0/plugin", word: "thumbnail"),
    Mistake(
      text: """
        {"sources": [], "stages": [{"name": "a", "plugin": "identify"},
         {"name": "a", "plugin": "identify"}]}
        """, pointer: "/stages/1/name", word: "a"),
    Mistake(text: #"{"sources": [], "stages": [}"#, pointer: nil, word: ":1:28:"),
  ]

  @Test(
    "A mistake ends every verb with 2 and a pointer, before anything is touched",
    arguments: mistakes)
  func mistake(_ mistake: Mistake) throws {
    let workspace = try Workspace()
    try workspace.put("text", as: "a.txt")
    try workspace.write(Array(mistake.text.utf8), to: "pipeline.json")
    for words: [BytePath] in [["run"], ["config", "check"], ["import", "inbox/a.txt"]] {
      let outcome = try workspace.program.run(words + ["--json"])
      #expect(outcome.exitCode == 2 && outcome.errors == "")
      let errors = try outcome.events("error")
      let error = errors.first { $0["pointer"]?.string == mistake.pointer }
      let message = error?["message"]?.string ?? ""
      #expect(message.contains(mistake.word), "\(outcome.output)")
      #expect(error?["code"] == "configuration")
    }
    let text = try workspace.run("run")
    #expect(text.exitCode == 2 && text.errors.contains("pipeline.json"))
    #expect(!workspace.exists("library") && workspace.exists("inbox/a.txt"))
  }

  @Test("A configuration that others may write is refused")
  func writableByOthers() throws {
    let workspace = try Workspace()
    try workspace.put("text", as: "a.txt")
    let path = workspace.root.appending("pipeline.json").description
    for mode: mode_t in [0o666, 0o646, 0o664] {
      #expect(chmod(path, mode) == 0)
      let outcome = try workspace.run("run")
      #expect(outcome.exitCode == 2 && outcome.errors.contains("pipeline.json"))
      #expect(!workspace.exists("library") && workspace.exists("inbox/a.txt"))
    }
    #expect(chmod(path, 0o644) == 0)
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("The effective configuration is valid and means the same; the schema is JSON")
  func effective() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 120, height: 90), as: "a.jpg")
    try workspace.json("run")
    let shown = try workspace.run("config", "show")
    #expect(shown.exitCode == 0)
    try workspace.write(shown.outputBytes, to: "pipeline.json")
    #expect(try workspace.run("config", "check").exitCode == 0)
    #expect(try workspace.json("run").count == 1)
    let schema = try workspace.run("config", "schema")
    let value = try JSONText.decode(JSONValue.self, from: schema.output)
    #expect(value["properties"]?["stages"] != nil)
  }
}
