import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Plugins that crash, hang, flood, lie and try to get out: each is contained, the others
/// go on, and the library is sound.
@Suite("Hostile plugins", .timeLimit(.minutes(10)))
final class HostilePluginTests {
  private let workspace: Workspace

  init() throws {
    workspace = try Workspace()
    try HostilePlugin.makeLibrary(in: workspace)
    try configure()
  }

  private func configure(_ members: [String: JSONValue] = [:]) throws {
    var stage: [String: JSONValue] = [
      "name": "hostile", "plugin": "hostile", "concurrency": 2, "timeout": "2s", "attempts": 2,
      "limits": ["memory": "128MiB", "outputBytes": "1MiB", "files": 200, "cpu": "1s"],
    ]
    stage.merge(members) { $1 }
    try workspace.configure(stages: [.object(stage)], ["plugins": ["plugins"]])
  }

  /// Runs the plugin on a file that says what to do, beside files that are harmless.
  private func deed(_ words: String, exit: Int32) throws -> JSONValue {
    for index in 0..<4 { try workspace.put("harmless \(index)", as: BytePath("\(index).txt")) }
    try workspace.put(words, as: "deed.txt")
    let events = try workspace.json("run", exit: exit)
    let jobs = events.of("job")
    #expect(jobs.count == 5)
    let id = try #require(try workspace.asset(named: "deed.txt")["id"]?.string)
    for job in jobs where job["asset"]?.string != id {
      #expect(job["outcome"] == "done", "\(job)")
    }
    try workspace.expectSound()
    try workspace.expectNobodyLeft()
    return try #require(jobs.first { $0["asset"]?.string == id })
  }

  @Test(
    "A crash fails its job and no other",
    arguments: [
      ("segv", "SIGSEGV"), ("null", "SIGSEGV"), ("abort", "SIGABRT"), ("trap", "SIG"),
      ("exit", "exit code 7"), ("stack", "SIGSEGV"),
    ])
  func crash(deed words: String, sign: String) throws {
    let job = try deed(words, exit: 3)
    #expect(job["outcome"] == "failed" && job["class"] == "transient")
    let reason = try #require(job["reason"]?.string)
    #expect(reason.contains("crashed") && reason.contains(sign), "\(reason)")
  }

  @Test("A file that kills its worker each time is given up after its attempts, until a retry")
  func attempts() throws {
    /// The state of the file's job, and the attempts that it has had.
    func job() throws -> [String] {
      try shell("SELECT state, attempts FROM jobs WHERE name = 'deed.txt'").split(separator: "|")
        .map(String.init)
    }
    /// Runs once more as if the delay were over.
    func runLater(exit: Int32) throws -> [JSONValue] {
      _ = try shell("UPDATE ledger SET not_before = 1 WHERE not_before > 0")
      return try workspace.json("run", exit: exit).of("job")
    }
    _ = try deed("segv", exit: 3)
    #expect(try job() == ["ready", "1"])
    // Not before its time.
    #expect(try workspace.json("run").of("job").isEmpty)
    let second = try runLater(exit: 3)
    #expect(second.map { $0["outcome"] } == ["failed"])
    #expect(try job() == ["failed", "2"])
    let failure = try #require(try workspace.json("failed").of("failure").first)
    #expect(failure["name"] == "deed.txt" && failure["class"] == "transient")
    #expect(failure["attempts"] == 2)
    #expect(try runLater(exit: 0).isEmpty)
    #expect(try workspace.json("retry", "--all").of("retried").first?["jobs"] == 1)
    // Made ready, and begun by nobody yet.
    #expect(try job() == ["ready", "0"])
    #expect(try shell("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == "0")
    let again = try workspace.json("run", exit: 3).of("job")
    #expect(again.count == 1)
    let retried = try job()
    #expect(retried == ["ready", "1"], "\(again)")
    try workspace.expectSound()
    try workspace.expectNobodyLeft()
  }

  /// Asks, or changes, the catalog while no program works on it.
  private func shell(_ sql: String) throws -> String {
    try workspace.change(sql).joined(separator: "\n")
  }

  @Test("One that hangs is ended at its time", arguments: ["hang", "stubborn"])
  func hang(deed words: String) throws {
    let start = ContinuousClock.now
    let job = try deed(words, exit: 3)
    #expect(job["outcome"] == "failed" && job["class"] == "transient")
    #expect(job["reason"]?.string?.contains("2s at most") == true)
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test("One that burns the processor is ended by its limit of that")
  func burn() throws {
    try configure(["timeout": "60s"])
    let job = try deed("burn", exit: 3)
    #expect(job["class"] == "permanent")
    #expect(job["reason"]?.string?.contains("processor") == true)
  }

  @Test("A flooded log is cut, and the job is done")
  func flood() throws {
    try configure(["timeout": "60s", "limits": ["memory": "128MiB"]])
    #expect(try deed("flood", exit: 0)["outcome"] == "done")
  }

  @Test(
    "An answer that lies is no result",
    arguments: ["nonsense", "scribble", "escape", "absolute", "missing"])
  func lie(deed words: String) throws {
    let job = try deed(words, exit: 3)
    #expect(job["outcome"] == "failed" && job["class"] == "permanent", "\(job)")
    #expect(try workspace.assets().allSatisfy { $0["renditions"] == .array([]) })
  }

  @Test("Nothing that a plugin says is obeyed by a terminal, or taken for a line of the program's")
  func speech() throws {
    let escape = #"\u001b]0;x\u0007\u009b31m\u202egpj\r\n\tasset x is done\u007f"#
    let answers = [
      #"{"outcome":"done","facts":{"\#(escape)":"\#(escape)","long":"\#(String(repeating: "f", count: 5000))"}}"#,
      #"{"outcome":"skipped","reason":"\#(escape)"}"#,
      #"{"outcome":"failed","failure":{"class":"permanent","reason":"\#(escape)"}}"#,
      #"{"outcome":"failed","failure":{"class":"permanent","reason":"\#(String(repeating: "r", count: 9000))"}}"#,
      #"{"outcome":"done","renditions":[{"name":"\#(escape)","path":"a","mediaType":"image/png","width":1,"height":1}]}"#,
      #"{"outcome":"done","facts":["none"]}"#,
    ]
    for (index, answer) in answers.enumerated() {
      try workspace.put("say \(answer)", as: BytePath("\(index).txt"))
    }
    let run = try workspace.run("run", "-v")
    #expect(run.exitCode == 3)
    #expect(run.errors.utf8.count < 32_000, "\(run.errors.utf8.count)")
    var printed = run.output + run.errors
    for asset in try workspace.assets() {
      let id = BytePath(try #require(asset["id"]?.string))
      for verb: BytePath in ["show", "explain"] {
        let shown = try workspace.run(verb, id)
        #expect(shown.output.utf8.count < 4000)
        printed += shown.output + shown.errors
      }
    }
    for verb: BytePath in ["failed", "list", "status"] { printed += try workspace.run(verb).output }
    #expect(printed.contains("\\u{1b}]0;x") && printed.contains("\\u{202e}gpj"))
    let obeyed = printed.unicodeScalars.filter { $0.isControlling && $0 != "\n" && $0 != "\t" }
    #expect(obeyed.isEmpty, "\(Set(obeyed))")
    #expect(!printed.split(separator: "\n").contains { $0.hasPrefix("\tasset x") })
    // As JSON all of it is there, and is as harmless.
    let json = try workspace.run("failed", "--json")
    #expect(json.output.unicodeScalars.allSatisfy { $0 == "\n" || !$0.isControlling })
    let reasons = try json.events().of("failure").compactMap { $0["reason"]?.string }
    #expect(reasons.contains { $0.contains("\u{1B}]0;x\u{7}\u{9B}31m\u{202E}gpj\r\n\t") })
    #expect(reasons.contains { $0.contains("the facts are not an object") })
    #expect(reasons.allSatisfy { $0.unicodeScalars.count <= 2000 })
  }

  /// What is outside is refused, not there, or in a root folder that nobody may write.
  private static let outside: Set<Int32> = [EACCES, ENOENT, EROFS]

  @Test("Nothing outside can be read, written, reached or ended")
  func escape() throws {
    let secret = workspace.root.appending("secret.txt")
    try workspace.write(Array("secret".utf8), to: secret)
    let attempts: [(words: String, allowed: Set<Int32>)] = [
      ("make \(workspace.root.appending("made").description)", Self.outside),
      ("make \(workspace.inbox.appending("made.txt").description)", Self.outside),
      ("make /tmp/pipeline-hostile-was-here", Self.outside),
      ("read \(secret.description)", Self.outside),
      ("read \(workspace.library.appending("catalog.sqlite").description)", Self.outside),
      ("read /etc/passwd", Self.outside),
      ("read /proc/self/environ", Self.outside),
      ("read /dev/zero", Self.outside), ("shared", [EPERM]), ("downwards", [EPERM]),
      ("connect 9", [EPERM, EACCES]), ("fork", [EPERM]), ("exec", [EPERM, EACCES]),
      ("kill", [EPERM]), ("pipe", [EPERM, EACCES]), ("spoil", [EPERM, EACCES]),
    ]
    for (index, attempt) in attempts.enumerated() {
      try workspace.put(attempt.words, as: BytePath("\(index).txt"))
    }
    try workspace.json("run")
    for (index, attempt) in attempts.enumerated() {
      let asset = try workspace.asset(named: "\(index).txt")
      let id = BytePath(try #require(asset["id"]?.string))
      let shown = try workspace.json("show", id)
      let facts = shown.compactMap { $0["facts"]?["hostile"]?["number"]?.integer }
      let number = try #require(facts.first, "\(attempt.words): \(shown)")
      #expect(attempt.allowed.contains(Int32(number)), "\(attempt.words) gave \(number)")
    }
    #expect(!workspace.exists("made") && !workspace.exists("inbox/made.txt"))
    #expect(!workspace.exists("/tmp/pipeline-hostile-was-here"))
    try workspace.expectSound()
    try workspace.expectNobodyLeft()
  }

  @Test(
    "One that takes too much is stopped",
    arguments: [
      ("memory", "of memory"), ("tables", "of memory"), ("large", "more than 1 MiB"),
      ("many", "200 files"), ("threads", "threads"), ("facts", "longer than 1 MiB"),
    ])
  func greed(deed words: String, reason: String) throws {
    try configure(["timeout": "30s"])
    let job = try deed(words, exit: 3)
    #expect(job["outcome"] == "failed" && job["class"] == "permanent", "\(job)")
    #expect(job["reason"]?.string?.contains(reason) == true, "\(job)")
  }

  @Test(
    "What the kernel refuses is the plugin's to cope with, and what it leaves is removed",
    arguments: ["gulp", "descriptors", "deep", "thread"])
  func refused(deed words: String) throws {
    // Deep folders take the kernel long, as it looks at every one above for the sandbox.
    try configure(["timeout": "2m", "limits": ["memory": "128MiB"]])
    #expect(try deed(words, exit: 0)["outcome"] == "done")
  }

  @Test(
    "A program beside the library reads its own file alone, by whatever name its folder is called")
  func besideLibrary() throws {
    // Even where the folder has its name.
    let name = BytePath(bytes: workspace.root.lastComponent.bytes + Array(".py".utf8))
    let program = workspace.root.appending(name)
    try workspace.write(Checkout.bytes(of: "Tests/Python/peek.py"), to: program)
    try #require(program.withCString { chmod($0, 0o755) } == 0)
    try Descriptor.openFolder(workspace.root).makeFolder(".ssh")
    for path: BytePath in ["key", ".ssh/key"] {
      try workspace.write(Array("secret".utf8), to: workspace.root.appending(path))
    }
    let elsewhere = try TemporaryFolder()
    let link = elsewhere.path.appending("link")
    try FileManager.default.createSymbolicLink(
      atPath: link.description, withDestinationPath: workspace.root.description)
    for (number, folder) in [workspace.root, link].enumerated() {
      try workspace.configure(stages: [
        ["name": "peek", "plugin": "peek", "command": .string("\(folder.appending(name))")]
      ])
      let file = BytePath("\(number).txt")
      try workspace.put("\(number)", as: file)
      try workspace.json("run")
      let id = BytePath(try #require(try workspace.asset(named: "\(file)")["id"]?.string))
      let facts = try workspace.json("show", id).compactMap {
        $0["facts"]?["peek"]?["errors"]?.array
      }
      let errors = try #require(facts.first).compactMap(\.integer)
      #expect(errors.count == 5 && errors.last == 0, "\(errors)")
      #expect(errors.dropLast().allSatisfy { Self.outside.contains(Int32($0)) }, "\(errors)")
    }
  }

  @Test("A limit that no machine has is none")
  func absurdLimit() throws {
    try configure(["limits": ["memory": "5000000TiB"]])
    #expect(try deed("harmless", exit: 0)["outcome"] == "done")
  }

  @Test("Another configuration is taken up while a job hangs, which fails nothing")
  func reload() throws {
    try configure(["timeout": "10m"])
    try workspace.put("stubborn", as: "deed.txt")
    let run = try workspace.program.start(["watch", "--json"])
    // A worker has the original as long as it is at work.
    try run.wait(for: "the job") {
      try workspace.files(below: "library/work").contains { $0.components.contains("in") }
    }
    try workspace.configure(stages: [])
    run.signal(SIGHUP)
    try run.wait(for: "the end of the first session") {
      String(decoding: run.outputSoFar, as: UTF8.self).contains("\"event\":\"summary\"")
    }
    try workspace.put("later", as: "later.txt")
    try run.wait(for: "a file of the second session") { !workspace.exists("inbox/later.txt") }
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 20)
    #expect(outcome.exitCode == 143)
    try workspace.expectNobodyLeft()
    #expect(try outcome.events().of("job").isEmpty)
    #expect(try workspace.json("failed").isEmpty)
    try workspace.expectSound()
  }

  @Test("A worker that goes on when its job is over is ended, and the next job has another")
  func linger() throws {
    try configure(["concurrency": 1, "limits": ["files": 20]])
    let run = try workspace.program.start(["watch"])
    defer { run.signal(SIGKILL) }
    try workspace.put("linger", as: "deed.txt")
    try run.wait(for: "what it does later") {
      try workspace.files(below: "library/work").contains { $0.lastComponent == "late 5" }
    }
    try run.wait(for: "its end") { try workspace.workers().allSatisfy { $0.0 == run.process } }
    try workspace.put("harmless", as: "other.txt")
    try run.wait(for: "the next job") {
      try workspace.assets().contains { $0["name"] == "other.txt" && $0["state"] == "done" }
    }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 20).exitCode == 143)
    try workspace.expectNobodyLeft()
    try workspace.expectSound()
  }

  @Test("With the program its workers end, in the middle of a job as well")
  func killedProgram() throws {
    try workspace.put("stubborn", as: "deed.txt")
    let run = try workspace.program.start(["run"])
    // A worker has the original as long as it is at work.
    try run.wait(for: "the job") {
      try workspace.files(below: "library/work").contains { $0.components.contains("in") }
    }
    run.signal(SIGKILL)
    _ = try run.wait(within: 20)
    let deadline = ContinuousClock.now + .seconds(30)
    while try !workspace.workers().isEmpty, ContinuousClock.now < deadline { usleep(10_000) }
    try workspace.expectNobodyLeft()
    try configure(["timeout": "1s"])
    _ = try workspace.json("run", exit: 3)
    try workspace.expectSound()
  }
}
