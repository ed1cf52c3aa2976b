import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A plugin that can't be used keeps its stage from running, and nothing else.
@Suite("Broken plugins", .timeLimit(.minutes(3)))
struct BrokenPluginTests {
  /// A stage with a program of its own, and one that needs it.
  private func stages(_ program: BytePath) -> JSONValue {
    let command: JSONValue = [.string(program.description)]
    return [
      ["name": "broken", "plugin": "broken", "command": command],
      ["name": "later", "plugin": "identify", "needs": ["broken"]],
    ]
  }

  private func write(_ text: String, to name: BytePath, mode: mode_t, _ workspace: Workspace) throws
  {
    try workspace.write(Array(text.utf8), to: name)
    chmod(workspace.root.appending(name).description, mode)
  }

  private static let importError = "#!/bin/sh\necho 'No module named colour' >&2\nexit 1\n"

  @Test(
    "Files are taken, the stage and what needs it wait, and the message names stage and plugin",
    arguments: [
      ("missing", nil, 0), ("barred", "#!/bin/sh\n", 0o644), ("error", importError, 0o755),
    ])
  func held(name: String, text: String?, mode: mode_t) throws {
    let workspace = try Workspace()
    // A folder that others can't write to: else the program is refused for that.
    try workspace.makeFolder("plugin")
    let program = BytePath("plugin/\(name)")
    if let text { try write(text, to: program, mode: mode, workspace) }
    try workspace.configure(stages: stages(workspace.root.appending(program)))
    try workspace.put("one", as: "a.txt")
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 3, "\(outcome.errors)")
    #expect(outcome.errors.contains("“broken”") && outcome.errors.contains("plugin"))
    #expect(try workspace.files(below: "inbox") == [])
    let id = try #require(try workspace.asset(named: "a.txt")["id"]?.string)
    let jobs = try #require(try workspace.json("show", BytePath(id)).first?["jobs"]?.array)
    let states = Dictionary(
      uniqueKeysWithValues: jobs.map { ($0["stage"]?.string ?? "", $0["state"]?.string ?? "") })
    #expect(states == ["broken": "ready", "later": "waiting"])
    let failures = try workspace.json("failed")
    #expect(failures.map { $0["class"] } == ["environment"] && failures[0]["stage"] == "broken")
    #expect(try workspace.json("status").first?["failures"] == 1)
    let check = try workspace.json("config", "check", exit: 1)
    #expect(check.first?["pointer"] == "/stages/0/command")
    // No run would do their jobs, so no plan counts them.
    let planned = try workspace.program.run(["plan", "--json"]).events("plan")
    #expect(planned.first?["jobs"] == 0, "\(planned)")
    // The next run tells of it, too, although there is nothing new.
    #expect(try workspace.run("run").exitCode == 3)
    try workspace.expectSound()
  }

  @Test("A library that has gone holds its stage; once it is back nothing is done again")
  func comesBack() throws {
    let workspace = try Workspace()
    try workspace.makeFolder("own")
    let built = BuiltProgram.path.parent.appending("libpipeline-identify.so").description
    // The folder is asked before the program's own, so its plugin is the one that is used.
    let own = workspace.root.appending("own/libpipeline-identify.so").description
    try FileManager.default.copyItem(atPath: built, toPath: own)
    try workspace.configure(
      stages: [["name": "identify", "plugin": "identify"]], ["plugins": ["own"]])
    try workspace.put("one", as: "a.txt")
    try workspace.json("run")
    try FileManager.default.removeItem(atPath: workspace.root.appending("own").description)
    try workspace.put("two", as: "b.txt")
    let held = try workspace.json("run", exit: 3)
    #expect(held.outcome("b.txt") == "imported" && held.of("job").isEmpty)
    #expect(held.of("stage").first?["plugin"] == "identify")
    // What was done stays done.
    #expect(try workspace.asset(named: "a.txt")["state"] == "done")
    #expect(try workspace.asset(named: "b.txt")["state"] == "ready")
    try workspace.makeFolder("own")
    try FileManager.default.copyItem(atPath: built, toPath: own)
    #expect(try workspace.json("run").of("job").count == 1)
    #expect(try workspace.json("failed") == [])
  }

  @Test(
    "Options that only the plugin refuses are found by `config check`, and hold one stage",
    arguments: [
      (
        """
        {"name": "t", "plugin": "thumbnail", "options":
          {"sizes": [{"name": "a", "maxPixelSize": 8}, {"name": "a", "maxPixelSize": 9}]}}
        """, "two entries"
      ),
      (
        """
        {"name": "t", "plugin": "command", "allow": {"exec": true},
          "options": {"command": ["wc", "{file}"]}}
        """, "“{file}”"
      ),
    ])
  func options(stage: String, word: String) throws {
    let stage = try JSONText.decode(JSONValue.self, from: stage)
    let workspace = try Workspace(stages: [stage])
    let check = try workspace.run("config", "check")
    #expect(check.exitCode == 2 && check.errors.contains(word), "\(check.errors)")
    #expect(check.errors.contains("/stages/0/options") && !check.errors.contains("DecodingError"))
    try workspace.put(Pictures.jpeg(width: 16, height: 16), as: "a.jpg")
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 3 && outcome.errors.contains(word), "\(outcome.errors)")
    #expect(outcome.errors.contains("The stage “t”") && !outcome.errors.contains("Error."))
    #expect(try workspace.json("failed").map { $0["class"] } == ["environment"])
    #expect(try workspace.files(below: "inbox") == [])
  }

  /// Has every user able to replace the plugin, or gives it an option schema with a bad pattern.
  private func spoil(_ workspace: Workspace, _ what: String) throws {
    let program = workspace.root.appending("mine/mine.sh")
    if what == "mode" { return #expect(chmod(program.description, 0o777) == 0) }
    let text = try String(contentsOfFile: program.description, encoding: .utf8)
    let bad = #""options":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}"#
    let spoiled = text.replacing(#""options":{"type":"object"}"#, with: bad)
    #expect(spoiled != text)
    try write(spoiled, to: "mine/mine.sh", mode: 0o755, workspace)
  }

  @Test(
    "A new plugin that others can replace, or without a usable schema, ends the run; a known one waits",
    arguments: [("mode", 1, "chmod go-w"), ("schema", 2, "schema")])
  func refused(what: String, exitCode: Int32, word: String) throws {
    let workspace = try Workspace(stages: [SmallPlugin.stage])
    try SmallPlugin.write(into: workspace)
    try workspace.put("one", as: "a.txt")
    try spoil(workspace, what)
    for verb: BytePath in ["run", "watch", "plan"] {
      let outcome = try workspace.run(verb)
      #expect(outcome.exitCode == exitCode && outcome.errors.contains(word), "\(outcome.errors)")
    }
    #expect(try workspace.files(below: "inbox") == ["a.txt"])
    try SmallPlugin.write(into: workspace)
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
    try spoil(workspace, what)
    try workspace.put("two", as: "b.txt")
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 3 && outcome.errors.contains(word), "\(outcome.errors)")
    #expect(try workspace.files(below: "inbox") == [])
    // Under another name, the stage's plugin is still one that the library has worked with.
    var renamed = try #require(SmallPlugin.stage.object)
    renamed["name"] = "renamed"
    try workspace.configure(stages: [.object(renamed)])
    try workspace.put("three", as: "c.txt")
    #expect(try workspace.run("run").exitCode == 3)
    try workspace.expectSound()
  }

  @Test("A plugin that nobody has ever seen is an error of the configuration")
  func unknown() throws {
    let workspace = try Workspace(stages: [["name": "t", "plugin": "thumbnial"]])
    try workspace.put("one", as: "a.txt")
    let error = try workspace.json("run", exit: 2).first
    #expect(error?["pointer"] == "/stages/0/plugin")
    #expect(error?["message"]?.string?.contains("“thumbnail”") == true)
    #expect(try workspace.files(below: "inbox") == ["a.txt"])
  }

  @Test("`watch` goes on by itself once a plugin works")
  func watch() throws {
    let workspace = try Workspace(
      stages: [["name": "identify", "plugin": "identify"]],
      ["plugins": ["own"], "rescan": "500ms"])
    try workspace.put("one", as: "a.txt")
    let run = try workspace.program.start(["watch", "--json"])
    defer { run.signal(SIGKILL) }
    func said(_ text: String) -> Bool {
      String(decoding: run.outputSoFar, as: UTF8.self).contains(text)
    }
    try run.wait(for: "the import") { said("\"imported\"") }
    #expect(said("\"held\"") && !said("\"event\":\"job\""))
    try workspace.makeFolder("own")
    try run.wait(for: "the job") { said("\"event\":\"job\"") }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 20).exitCode == 143)
  }
}
