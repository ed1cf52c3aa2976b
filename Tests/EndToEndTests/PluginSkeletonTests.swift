import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@Suite("`plugins new`", .timeLimit(.minutes(2)))
struct PluginSkeletonTests {
  private let folder: TemporaryFolder
  private let program: BuiltProgram

  init() throws {
    folder = try TemporaryFolder()
    program = BuiltProgram(in: folder.path)
  }

  private func make(_ words: BytePath...) throws -> BuiltProgramOutcome {
    try program.run(["plugins", "new"] + words)
  }

  private func mode(_ name: BytePath) throws -> UInt32 {
    var status = stat()
    try #require(folder.appending(name).withCString { stat($0, &status) } == 0)
    return status.st_mode & 0o777
  }

  @Test("A plugin in Python answers as it is written, and counts what it is told to count")
  func python() throws {
    let outcome = try make("my-counter", "--language", "python", "--json")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let event = try outcome.event("created")
    #expect(event["product"] == "./my-counter.py" && event["build"] == .null)
    #expect(event["path"]?.string == "\(folder.path)/my-counter")
    #expect(try mode("my-counter/my-counter.py") & 0o111 == 0o111)
    let plugin = try LineProcess(["\(folder.path)/my-counter/my-counter.py"], in: folder.path)
    let manifest = try plugin.ask(["type": "hello", "protocol": 1])["manifest"]
    #expect(manifest?["id"] == "my-counter")
    let place = URL(filePath: folder.path.description)
    try Data("a\nb\n".utf8).write(to: place.appending(path: "text"))
    let answer = try plugin.ask([
      "type": "process",
      "request": [
        "job": "1", "input": .string("\(folder.path)/text"), "output": .string("\(folder.path)"),
        "options": [:], "facts": [:],
      ],
    ])
    #expect(answer["result"] == ["outcome": "done", "facts": ["count": 2]])
    let checks = try program.run(["plugins", "test", "my-counter/my-counter.py"])
    #expect(checks.exitCode == 0, "\(checks.output)")
  }

  @Test("Names and languages that can't be are refused with what can")
  func refusals() throws {
    let cases: [([BytePath], String)] = [
      (["X", "--language", "c"], "lowercase letters"),
      (["a/b", "--language", "c"], "lowercase letters"),
      (["test", "--language", "c"], "a subcommand of this"),
      (["x", "--language", "pyton"], "did you mean “python”?"),
      (["x", "--language", "rust"], "swift, c or python"), (["x"], "Name a language"),
      (["--language", "c"], "NAME is missing"),
      (["x", "y", "--language", "c"], "one argument too"),
    ]
    for (words, text) in cases {
      let outcome = try program.run(["plugins", "new"] + words)
      #expect(outcome.exitCode == 2 && outcome.errors.contains(text), "\(words): \(outcome.errors)")
    }
    let misplaced = try program.run(["plugins", "--into", "x"])
    #expect(misplaced.exitCode == 2 && misplaced.errors.contains("plugins new"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)").isEmpty)
  }

  @Test("What is there already stays as it is")
  func existing() throws {
    let place = URL(filePath: folder.path.description)
    try Data("mine".utf8).write(to: place.appending(path: "a"))
    try FileManager.default.createDirectory(
      at: place.appending(path: "b"), withIntermediateDirectories: false)
    for name: BytePath in ["a", "b"] {
      let outcome = try make(name, "--language", "c")
      #expect(outcome.exitCode == 1 && outcome.errors.contains("already exists"))
    }
    #expect(try Data(contentsOf: place.appending(path: "a")) == Data("mine".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/b").isEmpty)
  }

  @Test("It is made in another folder with --into, which has to be there")
  func into() throws {
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/plugins", withIntermediateDirectories: false)
    #expect(try make("2x", "--language", "swift", "--into", "plugins").exitCode == 0)
    let source = try String(
      contentsOfFile: "\(folder.path)/plugins/2x/Sources/_2xPlugin.swift", encoding: .utf8)
    #expect(source.contains("struct _2xPlugin: Plugin"))
    #expect(try make("x", "--language", "c", "--into", "nowhere").exitCode == 1)
  }
}
