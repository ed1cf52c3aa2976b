import Fixtures
import Foundation
import PipelineModel
import Testing

/// Names that are unusual, and what is printed of them.
@Suite("Names", .timeLimit(.minutes(10)))
struct NameTests {
  /// Names that files may have on Linux, every one of them.
  static let names: [BytePath] = [
    "two\nlines.txt", "-rf", "--help", "\u{1B}[31mred\u{7}.txt", "\"quoted\" 'twice' `and` \\.txt",
    "\u{202E}gpj.right-to-left.txt", " spaces ", "tab\tand\rreturn", "Grüße 猫 🐈.txt", "%FF%0A",
    BytePath(bytes: [UInt8](repeating: UInt8(ascii: "x"), count: 255)),
    BytePath(bytes: [0x66, 0xFF, 0xC3, 0x28, 0x2E, 0x74]), BytePath(bytes: [0xC0, 0x80]),
    "$(touch broken)", "*", "#recycled", "con.txt",
  ]

  @Test("Every name is imported and kept byte by byte, in every folder")
  func kept() throws {
    let workspace = try Workspace()
    try workspace.makeFolder(workspace.inbox.appending("-sub\n folder"))
    for (index, name) in Self.names.enumerated() {
      try workspace.put("file \(index)", as: name)
      try workspace.put("inner \(index)", as: BytePath("-sub\n folder").appending(name))
    }
    let events = try workspace.json("run")
    workspace.expectCountersAddUp(events)
    #expect(events.summary["imported"]?.integer == Self.names.count * 2)
    let found = try workspace.assets().map { asset in
      try #require(rawName(asset, key: "name"))
    }
    for name in Self.names { #expect(found.count { $0 == name } == 2, "\(name.printable)") }
    for (file, outcome) in events.of("file").map({ (rawName($0, key: "path"), $0["outcome"]) }) {
      #expect(outcome == "imported" && file?.isAbsolute == true)
    }
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.expectSound()
  }

  @Test("A path that is not UTF-8 is printed with escapes, and its bytes beside it")
  func notText() throws {
    let workspace = try Workspace()
    let name = BytePath(bytes: [0x66, 0xFF, 0x2E, 0x74])
    try workspace.put("raw", as: name)
    let file = try #require(try workspace.json("run").of("file").first)
    #expect(file["path"]?.string == "\(workspace.inbox)/f%FF.t")
    #expect(rawName(file, key: "path") == workspace.inbox.appending(name))
    // The path can be asked for by its own bytes.
    let explained = try workspace.json("explain", BytePath("inbox").appending(name))
    #expect(explained.of("path").first?["state"] == "imported")
  }

  @Test("No escape code of a name reaches the terminal")
  func escapes() throws {
    let workspace = try Workspace()
    let name = BytePath("\u{1B}[2J\u{1B}]0;title\u{7}\u{9B}31m\nsecond line.jpg")
    let half = Pictures.truncated(try Pictures.jpeg(width: 200, height: 150))
    try workspace.put(half, as: name)
    try workspace.put("", as: "\u{1B}empty")
    let run = try workspace.run("run", "-v")
    #expect(run.exitCode == 3)
    expectClean(run)
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    for words: [BytePath] in [
      ["list"], ["show", id], ["failed"], ["status"], ["verify", "-v"],
      ["explain", BytePath("inbox").appending(name)], ["explain", "inbox/\u{1B}empty"],
      ["explain", "\u{1B}nowhere"], ["get", "\u{1B}[0m"], ["\u{1B}[0m"], ["run", "--\u{1B}"],
      ["--config", "\u{1B}[0m", "run"],
    ] {
      for json: [BytePath] in [[], ["--json"]] {
        let outcome = try workspace.program.run(words + json)
        expectClean(outcome)
        if json != [] { #expect(throws: Never.self) { try outcome.events() } }
      }
    }
    // One record a line, whatever the name.
    #expect(try workspace.run("list").output.split(separator: "\n").count == 1)
  }

  private func expectClean(
    _ outcome: BuiltProgramOutcome, at location: SourceLocation = #_sourceLocation
  ) {
    for text in [outcome.output, outcome.errors] {
      let codes = text.unicodeScalars.filter {
        ($0.value < 32 && $0 != "\n" && $0 != "\t") || (0x7F...0x9F).contains($0.value)
      }
      #expect(codes.isEmpty, "\(text.debugDescription)", sourceLocation: location)
    }
  }

  /// The bytes that a member stands for.
  private func rawName(_ event: JSONValue, key: String) -> BytePath? {
    if let text = event["\(key)Base64"]?.string {
      return Data(base64Encoded: text).map { BytePath(bytes: $0) }
    }
    return event[key]?.string.map { BytePath($0) }
  }
}
