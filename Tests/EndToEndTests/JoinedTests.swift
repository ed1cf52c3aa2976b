import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Synchronization
import Testing

/// `run`, `watch` and `import` on machines that join a library, and the process that records for them.
@Suite(
  "Taking files on several machines",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(10)))
struct JoinedTests {
  @Test(
    "Files of a machine that joins are recorded by the one with the lock, and leave their folder")
  func joined() throws {
    let bench = try JoinedBench()
    let (workspace, names) = (bench.workspace, (0..<20).map { "\($0).txt" })
    let watch = try bench.startWatch()
    try bench.put(names)
    let run = try bench.run()
    #expect(run.summary["imported"] == 20)
    #expect(try workspace.files(below: "from-second") == [])
    let assets = try workspace.assets()
    #expect(assets.count == 20)
    let path = workspace.root.appending("from-second").description
    let checked = try workspace.run("doctor", "--config", "second.json")
    #expect(checked.output.contains("“\(path)” can be read and emptied"), "\(checked.output)")
    let checks = checked.output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(!checks.contains { $0.dropFirst().first == "serve" }, "\(checked.output)")
    try bench.shared.configure(
      "lost.json", library: "second", stages: [JoinedBench.identify],
      [
        "node": ["name": "second", "joins": true],
        "originals": .string("\(try #require(workspace.bucket).location)-other"),
      ])
    let other = try workspace.run("doctor", "--config", "lost.json")
    #expect(
      other.exitCode == 3 && other.output.contains("The library's originals are in"), "\(other)")
    #expect(assets.allSatisfy { $0["source"]?.string == "//second\(path)" }, "\(assets[0])")
    // The same bytes once more, and a folder that stays as it is.
    try bench.put(["again.txt"], text: "second 3.txt")
    let again = try bench.run()
    #expect(again.summary["duplicates"] == 1 && again.summary["imported"] == 0)
    #expect(try workspace.files(below: "from-second") == [])
    try bench.end(watch)
    #expect(try workspace.json("run").summary["imported"] == 0)
    #expect(try bench.shared.count("job") == 20)
    try bench.expectSound()
    let before = try workspace.facts()
    try workspace.json("rebuild-catalog")
    #expect(try workspace.facts() == before)
    // A run's files can't go back to another machine, nor what a discarded duplicate relies on.
    let id = try #require(run.summary["run"]?.string)
    let planned = try workspace.json("undo", "--dry-run", BytePath(id), exit: 3)
    #expect(planned.of("undone").first?["wouldFail"] == 20)
    let undone = try workspace.json("undo", BytePath(id), exit: 3)
    #expect(
      undone.of("file").filter { $0["reason"]?.string?.contains("machine “second”") == true }.count
        == 19)
    #expect(try workspace.assets().count == 20)
  }

  @Test("Without the process with the lock nothing is taken, and it goes on by itself")
  func alone() throws {
    let bench = try JoinedBench()
    try bench.put(["early.txt"])
    let run = try bench.run(exit: 1)
    #expect(
      run.of("error").first?["message"]?.string?.contains("no process has the library's lock")
        == true)
    #expect(try bench.workspace.files(below: "from-second") == ["early.txt"])
    let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try joined.wait(for: "its pause") {
      String(decoding: joined.outputSoFar, as: UTF8.self).contains(
        "no process has the library's lock")
    }
    #expect(try bench.shared.count("asset") == 0)
    let watch = try bench.startWatch()
    try joined.wait(for: "the import") { try bench.shared.count("asset") == 1 }
    try bench.put(["late.txt"])
    try joined.wait(for: "the next import") { try bench.shared.count("asset") == 2 }
    try joined.wait(for: "the removal") { try bench.workspace.files(below: "from-second").isEmpty }
    // While it is stopped, files wait; killed, its successor records what it had not.
    try bench.shared.stop(watch)
    try bench.put(["waiting.txt"])
    try joined.wait(for: "the request") { try bench.shared.count("request") == 1 }
    watch.signal(SIGKILL)
    #expect(try watch.wait(within: 30).signal == SIGKILL)
    let next = try bench.startWatch()
    try joined.wait(for: "the last import") { try bench.shared.count("asset") == 3 }
    try joined.wait(for: "the last removal") {
      try bench.workspace.files(below: "from-second").isEmpty
    }
    try bench.end(joined)
    try bench.end(next)
    try bench.expectSound()
  }

  @Test("A process that others took for gone while it waited goes on, and knows what was recorded")
  func slept() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try joined.wait(for: "its place") {
      try bench.shared.count("participant WHERE node = 'second'") == 1
    }
    try bench.shared.stop(watch)
    try bench.put(["asleep.txt"])
    try joined.wait(for: "the request") { try bench.shared.count("request") == 1 }
    try bench.shared.stop(joined)
    watch.signal(SIGCONT)
    try bench.shared.wait(for: "the record") { try bench.shared.count("asset") == 1 }
    try bench.shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE node = 'second'")
    // Who begins requests drops those of processes that are gone.
    try bench.shared.wait(for: "the rescue") {
      try bench.shared.count("participant WHERE node = 'second' AND state = 'expired'") == 1
    }
    try bench.shared.database.execute("DELETE FROM pipeline.request")
    joined.signal(SIGCONT)
    try bench.shared.wait(for: "the removal") {
      try bench.workspace.files(below: "from-second").isEmpty
    }
    try bench.put(["awake.txt"])
    try bench.shared.wait(for: "the next import") { try bench.shared.count("asset") == 2 }
    // Another process with the same folder takes no files, but what is named.
    let second = try bench.workspace.run("run", "--config", "second.json")
    #expect(
      second.exitCode == 11 && second.errors.contains("takes files with the folder"), "\(second)")
    try bench.workspace.put("named", as: "named.txt", in: bench.workspace.root)
    try bench.workspace.json(
      "import", bench.workspace.root.appending("named.txt"), "--config", "second.json")
    #expect(try bench.shared.count("sighting WHERE state <> 'imported'") == 0)
    let path = bench.workspace.root.appending("from-second/awake.txt")
    for operand in [path, MachinePath.path(path, on: "second")] {
      let told = try bench.workspace.run("explain", operand, "--config", "second.json")
      #expect(told.output.contains("imported"), "\(told)")
    }
    try bench.end(joined)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("A second machine under a name takes nothing; the first one's successor has it at once")
  func names() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try joined.wait(for: "its place") {
      try bench.shared.count("held_source WHERE name = '//second'") == 1
    }
    // Another folder, such as that of another machine.
    try bench.workspace.makeFolder(bench.workspace.root.appending("from-third"))
    try bench.shared.configure(
      "third.json", library: "third", stages: [JoinedBench.identify],
      [
        "node": ["name": "second", "joins": true],
        "sources": [["path": "from-third", "settle": "0ms", "mode": "move"]],
      ])
    try bench.put(["other.txt"], on: "third")
    let refused = try bench.workspace.run("run", "--config", "third.json")
    #expect(
      refused.exitCode == 11 && refused.errors.contains("under the name “second”"), "\(refused)")
    #expect(try bench.workspace.files(below: "from-third").count == 1)
    // What is named to `import` is taken all the same, beside the watch.
    try bench.workspace.put("named", as: "named.txt", in: bench.workspace.root)
    try bench.workspace.json(
      "import", bench.workspace.root.appending("named.txt"), "--config", "second.json")
    let nodes = try bench.workspace.json("nodes").of("node")
    #expect(nodes.allSatisfy { $0["sources"]?.array ?? [] == [] })
    joined.signal(SIGKILL)
    #expect(try joined.wait(within: 30).signal == SIGKILL)
    let next = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try bench.put(["next.txt"])
    try next.wait(for: "its import") { try bench.shared.count("asset") == 2 }
    try bench.end(next)
    try bench.run("third")
    #expect(try bench.shared.count("asset") == 3)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("Clocks that are minutes ahead or behind change nothing about who takes and does what")
  func clocks() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    try bench.add("third")
    for (machine, offset) in [("second", "+10m"), ("third", "-10m")] {
      try bench.put((0..<5).map { "\($0).txt" }, on: machine)
      let program = try bench.workspace.program.withClock(offset)
      let outcome = try program.run(["run", "--json", "--config", BytePath("\(machine).json")])
      #expect(outcome.exitCode == 0, "\(machine): \(outcome)")
      #expect(try bench.workspace.files(below: BytePath("from-\(machine)")).isEmpty)
    }
    #expect(try bench.shared.count("asset") == 10)
    #expect(try bench.shared.count("participant WHERE state = 'expired'") == 0)
    #expect(try bench.shared.count("attempt WHERE outcome = 'interrupted'") == 0)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "A clock that jumps changes nothing about who takes files; a store that refuses it is waited for"
  )
  func jumps() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    let clock = bench.workspace.root.appending("clock")
    func set(_ offset: String) throws {
      try bench.workspace.write(Array("\(offset)\n".utf8), to: "clock.new")
      #expect(rename("\(clock).new", "\(clock)") == 0)
    }
    try set("+0")
    let joined = try bench.workspace.program.withClock(in: clock)
      .start(["watch", "--json", "--config", "second.json"])
    func waitForJobs(_ count: Int) throws {
      try joined.wait(for: "\(count) jobs", within: 60) {
        try bench.shared.count("ledger WHERE state = 'done'") == count
          && bench.workspace.files(below: "from-second").isEmpty
      }
    }
    // The store allows for a quarter of an hour.
    for (index, offset) in ["+0", "+14m", "-14m"].enumerated() {
      try set(offset)
      try bench.put(["\(index).txt"])
      try waitForJobs(index + 1)
    }
    try set("+1h")
    try bench.put(["later.txt"])
    try joined.wait(for: "the sentence about the clock", within: 60) {
      try joined.eventsSoFar().contains {
        $0["state"] == "storeAway" && $0["reason"]?.string?.contains("set it right") == true
      }
    }
    #expect(try bench.workspace.files(below: "from-second") == ["later.txt"])
    #expect(try bench.shared.count("asset") == 3)
    try set("+0")
    try waitForJobs(4)
    #expect(try bench.shared.count("participant WHERE state = 'expired'") == 0)
    #expect(try bench.shared.count("attempt WHERE outcome = 'interrupted'") == 0)
    try bench.end(joined)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("Bytes that are deleted between their upload and their record are sent again")
  func sentAgain() throws {
    let uploads = Atomic(0)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      let isUpload = request.method == "PUT" && request.target.contains("/originals/")
      if isUpload { uploads.add(1, ordering: .relaxed) }
      return .none
    }
    defer { proxy.end() }
    let bench = try JoinedBench(through: proxy.endpoint)
    let bucket = try #require(bench.workspace.bucket)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.shared.stop(watch)
    try bench.put(["again.txt"])
    try second.wait(for: "the request to record") { try bench.shared.count("request") == 1 }
    #expect(uploads.load(ordering: .relaxed) == 1)
    // As by a `gc` that ended before.
    let original = try #require(try bucket.files(below: "originals").first)
    try bucket.remove("originals/\(original)")
    watch.signal(SIGCONT)
    try bench.wait(forFiles: 1)
    #expect(uploads.load(ordering: .relaxed) == 2)
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("Bytes that gc deletes between their upload and their record are sent again")
  func collected() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.put(["first.txt"], text: "the same")
    try bench.wait(forFiles: 1)
    let id = BytePath(try #require(try bench.workspace.assets().first?["id"]?.string))
    try bench.workspace.json("rm", id, "--config", "second.json")
    try bench.shared.stop(watch)
    try bench.put(["again.txt"], text: "the same")
    // Its bytes are there, so it only asks for the record.
    try second.wait(for: "the request to record") { try bench.shared.count("request") == 1 }
    watch.signal(SIGKILL)
    #expect(try watch.wait(within: 30).signal == SIGKILL)
    try bench.workspace.json("trash", "empty", "--yes", "--wait", "30s")
    let garbage = try bench.workspace.json("gc", "--yes", "--wait", "30s").of("garbage").first
    #expect(garbage?["originals"] == 1, "\(String(describing: garbage))")
    let next = try bench.startWatch()
    try bench.wait(forFiles: 1)
    try bench.end(second)
    try bench.end(next)
    try bench.expectSound()
  }

  @Test("While a request to delete may still be performed, gc lets nobody record")
  func lateDeletion() throws {
    let deletions = Atomic(0)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      guard request.method == "DELETE", request.target.contains("/originals/") else { return .none }
      return deletions.add(1, ordering: .relaxed).newValue == 1 ? .lostAnswer : .none
    }
    defer { proxy.end() }
    let bench = try JoinedBench(through: proxy.endpoint)
    for number in 0..<2 {
      try bench.workspace.put("text \(number)", as: BytePath("\(number).txt"))
    }
    try bench.workspace.json("run")
    for asset in try bench.workspace.assets() {
      let id = try #require(asset["id"]?.string)
      try bench.workspace.json("rm", BytePath(id))
    }
    try bench.workspace.json("trash", "empty", "--yes")
    let gc = try bench.workspace.program.start(["gc", "--yes", "--json"])
    // The one that was lost, and its repetition.
    try gc.wait(for: "both requests") { deletions.load(ordering: .relaxed) == 2 }
    try bench.put(["again.txt"], text: "text 0")
    let refused = try bench.workspace.run("run")
    #expect(refused.exitCode == 11 && gc.isRunning, "\(refused)")
    gc.signal(SIGTERM)
    let outcome = try gc.wait(within: 30)
    #expect(outcome.exitCode == 143, "\(outcome)")
    #expect(outcome.errors.contains("did not answer a request to delete"), "\(outcome)")
    // The other original is left to the next one.
    #expect(deletions.load(ordering: .relaxed) == 2)
    #expect(try bench.workspace.files(below: "library/originals").count == 1)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.put(["other.txt"], text: "text 1")
    try bench.wait(forFiles: 2)
    try bench.end(second)
    try bench.end(watch)
    try bench.workspace.json("gc", "--yes")
    try bench.expectSound()
  }

  @Test("Uploads that others may be making are left alone by gc, and ended once nobody is there")
  func uploads() throws {
    let bench = try JoinedBench()
    let bucket = try #require(bench.workspace.bucket)
    let key = "originals/ab/" + String(repeating: "ab", count: 32)
    try bucket.beginUpload(of: key)
    let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try joined.wait(for: "its place") {
      try bench.shared.count("participant WHERE node = 'second' AND state = 'active'") == 1
    }
    try bench.workspace.json("gc", "--yes")
    #expect(try bucket.uploads() == 1)
    try bench.end(joined)
    try bench.workspace.json("gc", "--yes")
    #expect(try bucket.uploads() == 0)
  }

  @Test("A machine that joins goes on by itself when the database is back")
  func databaseAway() throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    let watch = try bench.startWatch()
    let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try bench.put(["before.txt"])
    try bench.shared.wait(for: "an import") { try bench.shared.count("asset") == 1 }
    try server.stop(.immediate)
    try bench.put(["meanwhile.txt"])
    try server.start()
    try joined.wait(for: "the files", within: 120) {
      try bench.workspace.files(below: "from-second").isEmpty
    }
    try bench.end(joined)
    try bench.end(watch)
    try bench.workspace.expectSoundLibrary()
    #expect(try bench.workspace.assets().count == 2)
    try server.stop()
  }

  @Test("What has joined ends by a signal, and by a drain, while it waits for an answer")
  func ending() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    for isDrained in [true, false] {
      let joined = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
      try joined.wait(for: "its place") {
        try bench.shared.count("participant WHERE node = 'second' AND state = 'active'") == 1
      }
      try bench.shared.stop(watch)
      try bench.put(["\(isDrained).txt"])
      try joined.wait(for: "the request") { try bench.shared.count("request") == 1 }
      if isDrained {
        try bench.workspace.json("nodes", "drain", "second")
      } else {
        joined.signal(SIGTERM)
      }
      let outcome = try joined.wait(within: 40)
      #expect(outcome.exitCode == (isDrained ? 0 : 143) && outcome.errors == "", "\(outcome)")
      watch.signal(SIGCONT)
      #expect(try bench.workspace.files(below: "from-second") == [BytePath("\(isDrained).txt")])
      try bench.run()
      #expect(try bench.workspace.files(below: "from-second") == [])
    }
    #expect(try bench.shared.count("asset") == 2)
    #expect(try bench.shared.count("sighting WHERE state <> 'imported'") == 0)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "After five minutes without the server, watch, what joined and work go on by themselves, and have been quiet",
    .enabled(if: FaultSelection.isFull, "five minutes"), .timeLimit(.minutes(20)))
  func longAbsence() throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    let watch = try bench.startWatch()
    let second = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    let worker = try bench.startWork()
    func imports(_ count: Int64) throws {
      let database = try PostgreSQLConnection(bench.shared.address, applicationName: "tests")
      defer { database.close() }
      try second.wait(for: "\(count) imports and their jobs", within: 180) {
        try database.first("SELECT count(*) FROM pipeline.ledger WHERE state = 'done'") == count
      }
    }
    try bench.put(["1.txt"])
    try imports(1)
    func processorSeconds() throws -> Double {
      try [watch, second, worker].reduce(0) { try $0 + $1.processorSeconds() }
    }
    func said() -> Int {
      [watch, second, worker].reduce(0) {
        $0 + ($1.errorsSoFar + $1.outputSoFar).count { $0 == 0x0A }
      }
    }
    let (seconds, lines) = (try processorSeconds(), said())
    try server.stop()
    try bench.put(["2.txt"])
    // The fault itself.
    sleep(300)
    #expect(try processorSeconds() - seconds < 15)
    #expect(said() - lines < 20)
    try server.start()
    try imports(2)
    try second.wait(for: "the removal of its file") {
      try bench.workspace.files(below: "from-second") == []
    }
    for run in [second, worker, watch] { try bench.end(run) }
    try bench.shared.reconnect()
    try bench.expectSound()
  }

  /// With `PIPELINE_FAULTS=1` a thousand files.
  @Test("Machines that take the same bytes at once make one asset of them")
  func sameBytes() throws {
    let count = FaultSelection.isFull ? 1000 : 40
    let bench = try JoinedBench()
    let machines = ["second", "third", "fourth"]
    for machine in machines.dropFirst() { try bench.add(machine) }
    let watch = try bench.startWatch()
    let names = (0..<count).map { "\($0).txt" }
    for machine in machines {
      for name in names { try bench.put([name], on: machine, text: "the same \(name)") }
    }
    let runs = try machines.map {
      try bench.workspace.program.start(["run", "--json", "--config", BytePath("\($0).json")])
    }
    var imported = 0
    for run in runs {
      let outcome = try run.wait(within: 240)
      #expect(outcome.exitCode == 0, "\(outcome)")
      imported += try outcome.events().summary["imported"]?.integer ?? 0
    }
    #expect(imported == count)
    #expect(try bench.shared.count("asset") == Int64(count))
    for machine in machines {
      #expect(try bench.workspace.files(below: BytePath("from-\(machine)")) == [])
    }
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("Of machines that share a folder one takes its files, and another when that is gone")
  func sharedFolder() throws {
    let bench = try JoinedBench()
    let folder = bench.workspace.root.appending("from-second")
    for machine in ["second", "third", "fourth"] {
      try bench.add(
        machine, ["path": .string(folder.description), "shared": "desk", "settle": "50ms"])
    }
    let watch = try bench.startWatch()
    func start(_ machine: String) throws -> BuiltProgramRun {
      try bench.workspace.program.start([
        "watch", "--json", "--config", BytePath("\(machine).json"),
      ])
    }
    func imports(_ run: BuiltProgramRun) -> Int {
      String(decoding: run.outputSoFar, as: UTF8.self).split(separator: "\n").count {
        $0.contains("\"outcome\":\"imported\"")
      }
    }
    let second = try start("second")
    try second.wait(for: "its hold") {
      try bench.shared.count("held_source WHERE name = 'desk'") == 1
    }
    let third = try start("third")
    try third.wait(for: "the reason") {
      String(decoding: third.outputSoFar, as: UTF8.self).contains(
        "The machine “second” takes files")
    }
    try bench.put((0..<20).map { "\($0).txt" })
    try bench.shared.wait(for: "the imports") { try bench.shared.count("asset") == 20 }
    #expect(imports(third) == 0)
    let skipped = try bench.run("fourth")
    #expect(skipped.of("error") == [] && skipped.summary["imported"] == 0)
    // As when it was cut off: what it takes then is not recorded.
    try bench.shared.stop(second)
    try bench.put(["late.txt"])
    try bench.shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE node = 'second'")
    try bench.shared.wait(for: "the other one's import") { try bench.shared.count("asset") == 21 }
    second.signal(SIGCONT)
    try bench.put(["last.txt"])
    try bench.shared.wait(for: "the last import") { try bench.shared.count("asset") == 22 }
    try bench.shared.wait(for: "the removal") {
      try bench.workspace.files(below: "from-second").isEmpty
    }
    // It tells of a file once that is removed.
    try third.wait(for: "what it told") { imports(third) == 2 }
    // Killed, it is followed at once.
    third.signal(SIGKILL)
    #expect(try third.wait(within: 30).signal == SIGKILL)
    try bench.put(["after.txt"])
    try bench.shared.wait(for: "an import after the kill") { try bench.shared.count("asset") == 23 }
    // Others end what it was doing, too.
    try bench.wait(forFiles: 23)
    let assets = try bench.workspace.assets()
    #expect(assets.allSatisfy { $0["source"]?.string == "//shared:desk" })
    #expect(try bench.shared.count("sighting WHERE state <> 'imported'") == 0)
    let told = try bench.workspace.run(
      "explain", folder.appending("last.txt"), "--config", "fourth.json")
    #expect(told.output.contains("imported"), "\(told)")
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("`nodes` shows what a machine takes and can't do, and lets it end")
  func nodes() throws {
    let bench = try JoinedBench()
    let options: JSONValue = [
      "name": "identify", "plugin": "identify", "isolation": "none",
      "options": ["capturedFromName": ["IMG_{yyyy}{MM}{dd}*"]],
    ]
    try bench.add("second", ["shared": "desk"])
    try bench.shared.configure(
      "third.json", library: "third", stages: [options], ["node": ["name": "third", "joins": true]])
    let watch = try bench.startWatch()
    let second = try bench.workspace.program.start(["watch", "--json", "--config", "second.json"])
    try second.wait(for: "its hold") {
      try bench.shared.count("held_source WHERE name = 'desk'") == 1
    }
    let third = try bench.workspace.program.start(["watch", "--json", "--config", "third.json"])
    try third.wait(for: "what it can't do") {
      try bench.shared.count("participant WHERE held <> '{}'") == 1
    }
    let nodes = try bench.workspace.json("nodes").of("node").filter { $0["state"] == "active" }
    func node(_ name: String) throws -> JSONValue {
      try #require(nodes.first { $0["node"]?.string == name })
    }
    #expect(try node("second")["sources"] == ["desk"] && node("second")["heldStages"] == [:])
    let reason = try node("third")["heldStages"]?["identify"]?.string
    #expect(reason?.contains("“/capturedFromName”") == true, "\(nodes)")
    let text = try bench.workspace.run("nodes").output
    #expect(text.contains("The stage “identify” is held there") && text.contains("source “desk”"))
    #expect(text.contains("has the library's lock"))
    #expect(nodes.filter { $0["hasLock"] == true }.count == 1)
    for (name, run) in [("second", second), ("third", third)] {
      try bench.workspace.json("nodes", "drain", BytePath(name))
      #expect(try run.wait(within: 30).exitCode == 0)
    }
    try bench.end(watch)
  }

  @Test("Machines ask for changes by the database; what needs the library's folder is refused")
  func requests() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    try bench.put(["one.txt", "other.txt"])
    try bench.run()
    let file = bench.workspace.root.appending("elsewhere.txt")
    try bench.workspace.put("elsewhere", as: "elsewhere.txt", in: bench.workspace.root)
    let imported = try bench.workspace.json("import", file, "--config", "second.json")
    #expect(imported.summary["imported"] == 1)
    let asset = try #require(try bench.workspace.asset(named: "elsewhere.txt")["id"]?.string)
    #expect(
      try bench.workspace.asset(named: "elsewhere.txt")["source"]?.string == "//second")
    for (words, member, count) in [
      (["rm", asset], "assets", 1), (["trash", "restore", asset], "assets", 1),
      (["retry", "--all"], "jobs", 0), (["gc", "--yes"], "originals", 0),
    ] {
      let outcome = try bench.workspace.program.run(
        words.map { BytePath($0) } + ["--config", "second.json", "--json"])
      #expect(outcome.exitCode == 0, "\(words) \(outcome)")
      #expect(try outcome.events().last?[member]?.integer == count, "\(words) \(outcome.output)")
    }
    let refused = try bench.workspace.run("verify", "--repair", "--config", "second.json")
    #expect(refused.exitCode == 1, "\(refused)")
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "Each way of being wrong has its sentence",
    arguments: [
      (["originals": nil], 2, "“joins” needs originals"),
      (["sources": [["path": "inbox", "duplicates": "file"]]], 2, "“duplicates” can't be “file”"),
      (["originals": "s3://tests/elsewhere"], 1, "The library's originals are in"),
      (["library": "library"], 1, "is the library's own folder"),
      (
        ["node": nil, "sources": [["path": "inbox", "shared": "desk"]]], 2,
        "“shared” is for machines"
      ),
      (["node": ["name": "two words", "joins": true]], 2, "/node/name"),
    ] as [([String: JSONValue?], Int32, String)])
  func refused(members: [String: JSONValue?], exit: Int32, sentence: String) throws {
    let bench = try JoinedBench()
    var all: [String: JSONValue] = ["node": ["name": "third", "joins": true]]
    all["originals"] = .string(try #require(bench.workspace.bucket).location)
    all["library"] = "third"
    for (name, value) in members { all[name] = value }
    all["catalog"] = .string(bench.shared.address.uri)
    try bench.workspace.write(
      Array(JSONText.encodePretty(JSONValue.object(all)).utf8), to: "third.json")
    let outcome = try bench.workspace.run("run", "--config", "third.json")
    #expect(outcome.exitCode == exit && outcome.errors.contains(sentence), "\(outcome)")
    #expect(!bench.workspace.exists("third/incoming"))
  }
}
