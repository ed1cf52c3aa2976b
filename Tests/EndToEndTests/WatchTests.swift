import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `pipeline watch` as built, with the kernel's own events, limits and signals.
@Suite("Watching with the built program", .timeLimit(.minutes(15)))
struct WatchTests {
  /// Whether faults are injected in full, which takes minutes.
  private static let isThorough =
    ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1"

  /// A workspace with a watch that runs.
  private final class Bench {
    let workspace: Workspace
    let run: BuiltProgramRun

    init(
      complete: String = "quiet", settle: String = "200ms", mode: String = "move",
      stages: JSONValue = Workspace.stages(), prefix: [String] = []
    ) throws {
      workspace = try Workspace(
        sources: [
          [
            "path": "inbox", "settle": .string(settle), "mode": .string(mode),
            "complete": .string(complete),
          ]
        ], stages: stages)
      var program = workspace.program
      program.prefix = prefix
      run = try program.start(["watch", "--json"])
      try waitFor("the watch") { $0.of("watch").contains { $0["state"] != "away" } }
    }

    /// What it told so far, in whole lines.
    var events: [JSONValue] {
      get throws {
        let bytes = run.outputSoFar
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return try bytes[..<end].split(separator: UInt8(ascii: "\n")).map {
          try JSONText.decode(JSONValue.self, from: String(decoding: $0, as: UTF8.self))
        }
      }
    }

    var errors: String { String(decoding: run.errorsSoFar, as: UTF8.self) }

    /// Waits until what it told shows something.
    func waitFor(
      _ what: String, within seconds: Double = 120, at location: SourceLocation = #_sourceLocation,
      _ isThere: ([JSONValue]) -> Bool
    ) throws {
      let end = ContinuousClock.now + .seconds(seconds)
      while ContinuousClock.now < end, run.isRunning {
        if isThere(try events) { return }
        usleep(20_000)
      }
      let lines = try events.suffix(5)
      try #require(
        isThere(try events), "\(what) did not come: \(lines) \(errors)", sourceLocation: location)
    }

    func waitForImport(
      of name: String, at location: SourceLocation = #_sourceLocation
    ) throws {
      try waitFor("the import of \(name)", at: location) {
        $0.outcome(name, last: true) == "imported"
      }
    }

    /// Asks it to end and returns what it told.
    @discardableResult
    func end(
      exit: Int32 = 143, at location: SourceLocation = #_sourceLocation
    ) throws -> [JSONValue] {
      run.signal(SIGTERM)
      let outcome = try run.wait(within: 12)
      #expect(outcome.exitCode == exit, "\(outcome.errors)", sourceLocation: location)
      return try outcome.events()
    }
  }

  @Test("A picture that is dropped gets its thumbnails; the run is told and recorded at the end")
  func picture() throws {
    let bench = try Bench()
    try bench.workspace.put(try Pictures.jpeg(width: 200, height: 100), as: "photo.jpg")
    try bench.waitFor("two jobs") { $0.of("job").count == 2 }
    try bench.workspace.put("text", as: "note.txt")
    try bench.waitForImport(of: "note.txt")
    try bench.waitFor("four jobs") { $0.of("job").count == 4 }
    let events = try bench.end()
    #expect(events.summary["imported"] == 2)
    #expect(events.summary["jobsDone"] == 3 && events.summary["jobsSkipped"] == 1)
    bench.workspace.expectCountersAddUp(events)
    #expect(try bench.workspace.asset(named: "photo.jpg")["renditions"]?.array?.count == 2)
    try bench.workspace.expectSound()
  }

  @Test("Verbs that change something work beside it, and its own files go on")
  func beside() throws {
    let bench = try Bench()
    let elsewhere = try TemporaryFolder()
    try bench.workspace.put("elsewhere", as: "other.txt", in: elsewhere.path)
    let events = try bench.workspace.json("import", elsewhere.path)
    #expect(events.outcome("other.txt") == "imported")
    #expect(try bench.workspace.run("retry", "--all").exitCode == 0)
    try bench.workspace.put("mine", as: "mine.txt")
    try bench.waitForImport(of: "mine.txt")
    try bench.end()
    try bench.workspace.expectSound()
  }

  @Test("A tree of folders with a file is never missed, however fast it is made")
  func nested() throws {
    let bench = try Bench(settle: "50ms", stages: [])
    let count = Self.isThorough ? 1000 : 100
    for round in 0..<count {
      let folder = bench.workspace.inbox.appending(BytePath("\(round)"))
      for part in ["", "a", "a/b", "a/b/c"] {
        try bench.workspace.makeFolder(folder.appending(BytePath(part)))
      }
      try bench.workspace.put("file \(round)", as: BytePath("\(round)/a/b/c/file.txt"))
    }
    try bench.waitFor("all files", within: 120) {
      $0.of("file").count { $0["outcome"] == "imported" } == count
    }
    #expect(try bench.end().summary["imported"]?.integer == count)
    try bench.workspace.expectSound()
  }

  @Test("Files that come while the reader is stopped are all taken, and an overflow is told")
  func overflow() throws {
    let bench = try Bench(settle: "50ms", stages: [])
    let count = Self.isThorough ? 20_000 : 500
    try bench.run.stop()
    try EventQueue.overflow(bench.workspace.inbox)
    // Of these nobody is told.
    for number in 2..<count {
      try bench.workspace.put("file \(number)", as: BytePath("f\(number).txt"))
    }
    bench.run.signal(SIGCONT)
    // To count what was told would mean to read all of it each time.
    let folders = try [bench.workspace.inbox, bench.workspace.library.appending("incoming")].map {
      try Descriptor.openFolder($0)
    }
    let end = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < end, try folders.contains(where: { try $0.entries().count > 0 }) {
      usleep(250_000)
    }
    let events = try bench.end()
    #expect(events.of("watch").contains { $0["state"] == "overflowed" && $0["times"] == 1 })
    #expect(events.of("watch").contains { $0["state"] == "rescanned" && $0["regular"] == false })
    #expect(events.summary["imported"]?.integer == count)
    #expect(try bench.workspace.files(below: "inbox") == [])
    if !Self.isThorough { try bench.workspace.expectSound() }
  }

  @Test(
    "Where the kernel lets a user watch no more, the source is looked through instead",
    arguments: ["max_inotify_watches", "max_inotify_instances"])
  func limit(name: String) throws {
    let value = name == "max_inotify_watches" ? 3 : 0
    let script = "echo \(value) > /proc/sys/user/\(name); exec \"$@\""
    let bench = try Bench(prefix: ["unshare", "-Ur", "sh", "-c", script, "sh"])
    for folder in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"] {
      try bench.workspace.makeFolder(bench.workspace.inbox.appending(BytePath(folder)))
    }
    try bench.workspace.put("deep", as: "a/b/c/d/e/deep.txt")
    try bench.waitForImport(of: "deep.txt")
    try bench.waitFor("the reason") { $0.of("watch").contains { $0["state"] == "polled" } }
    try bench.workspace.put("later", as: "a/b/c/d/later.txt")
    try bench.waitForImport(of: "later.txt")
    let polled = try bench.end().of("watch").filter { $0["state"] == "polled" }
    #expect(polled.count == 1)
    let sysctl =
      name == "max_inotify_watches"
      ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances"
    #expect(polled.first?["reason"]?.string?.contains(sysctl) == true)
    try bench.workspace.expectSound()
  }

  @Test("A failed job is tried again when that is due, however rare rescans are")
  func retry() throws {
    let workspace = try Workspace()
    try SmallPlugin.write(
      into: workspace,
      process: #"""
        echo '{"type":"result","job":"'$job'","result":{"outcome":"failed","failure":{'\
          '"class":"transient","reason":"Busy."}}}'; continue
        """#)
    try workspace.configure(stages: [SmallPlugin.stage], ["rescan": "1h"])
    try workspace.put("one", as: "a.txt")
    #expect(try workspace.json("run", exit: 3).of("job").first?["class"] == "transient")
    try SmallPlugin.write(into: workspace)
    // Half a minute is what everybody waits but a test.
    let soon = Int(Date.now.timeIntervalSince1970 + 2) * 1_000_000
    try workspace.change("UPDATE ledger SET not_before = \(soon) WHERE not_before > 0")
    let watch = try workspace.program.start(["watch", "--json"])
    let end = ContinuousClock.now + .seconds(60)
    var state: JSONValue?
    while state != "done", ContinuousClock.now < end {
      usleep(100_000)
      state = try workspace.json("list").first?["state"]
    }
    #expect(state == "done")
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 12).exitCode == 143)
    try workspace.expectSound()
  }

  @Test("A source that is removed and made again is watched again")
  func rootAgain() throws {
    let bench = try Bench()
    try bench.workspace.put("before", as: "before.txt")
    try bench.waitForImport(of: "before.txt")
    let inbox = bench.workspace.inbox
    try Descriptor.openFolder(inbox.parent).removeFolder("inbox")
    try bench.waitFor("its absence") { $0.of("watch").contains { $0["state"] == "away" } }
    try bench.workspace.makeFolder(inbox)
    try bench.workspace.put("after", as: "after.txt")
    try bench.waitForImport(of: "after.txt")
    let events = try bench.end()
    #expect(events.of("watch").count { $0["state"] == "away" } == 1)
    #expect(events.of("watch").count { $0["state"] == "returned" } == 1)
    #expect(events.of("file").allSatisfy { $0["outcome"] == "imported" })
    try bench.workspace.expectSound()
  }

  @Test(
    "A disk that is unmounted is not held, its empty folder is left alone, and it is taken up again"
  )
  func unmounted() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "100ms", "mode": "move"]], stages: [])
    // Mounts can be made in a namespace of the program's own; so the steps are in it, too.
    let script = """
      wait_for() { for i in $(seq 1200); do if $1; then return; fi; sleep 0.05; done; exit 9; }
      empty() { [ -z "$(ls inbox)" ]; }
      away() { grep -q '"state":"away"' out; }
      free() { umount inbox 2>/dev/null; }
      mount -t tmpfs none inbox
      "$@" > out & watch=$!
      echo one > inbox/one.txt; wait_for empty
      wait_for free; wait_for away
      echo under > inbox/under.txt; sleep 1.5
      [ -e inbox/under.txt ] || exit 8
      mount -t tmpfs none inbox
      echo two > inbox/two.txt; wait_for empty
      kill $watch; wait $watch
      """
    var program = workspace.program
    program.prefix = ["unshare", "-Urm", "sh", "-c", script, "sh"]
    let outcome = try program.run(["watch", "--json"], within: 60)
    #expect(outcome.exitCode == 143, "\(outcome.errors)")
    let told = String(decoding: try workspace.read("out"), as: UTF8.self)
    #expect(told.contains("\"state\":\"returned\""))
    #expect(try workspace.files(below: "inbox") == ["under.txt"])
    #expect(Set(try workspace.assets().map { $0["name"] }) == ["one.txt", "two.txt"])
  }

  @Test(
    "A source on a file system without events is looked through without being told to",
    .enabled(if: FuseFolder.isPossible, "There is no /dev/fuse."))
  func silent() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "100ms", "mode": "copy"]], stages: [])
    let tools = try TemporaryFolder()
    let fuse = try FuseFolder(in: tools.path)
    try workspace.makeFolder(workspace.root.appending("behind"))
    let script = """
      "\(fuse.path.description)" behind inbox || exit 9
      "$@" > out & watch=$!
      told() { for i in $(seq 1200); do if grep -q "$1" out; then return; fi; sleep 0.05; done; exit 8; }
      told '"state":"polled"'
      echo one > behind/one.txt; told 'imported.*one.txt'
      sleep 1; echo two > behind/two.txt; told 'imported.*two.txt'
      kill $watch; wait $watch; code=$?
      umount inbox
      exit $code
      """
    var program = workspace.program
    program.prefix = ["unshare", "-Urm", "sh", "-c", script, "sh"]
    let outcome = try program.run(["watch", "--json"], within: 60)
    #expect(outcome.exitCode == 143, "\(outcome.errors)")
    let told = String(decoding: try workspace.read("out"), as: UTF8.self)
    #expect(told.contains("FUSE"))
    #expect(!told.contains("\"state\":\"watched\""))
    #expect(Set(try workspace.assets().map { $0["name"] }) == ["one.txt", "two.txt"])
  }

  @Test(
    "The stored bytes are read anew before another file goes for their sake", arguments: [0, 1])
  func damagedMeanwhile(kind: Int) throws {
    let bench = try Bench(complete: "close")
    let workspace = bench.workspace
    let bytes = Array("the only copy, thrice".utf8)
    for (count, name) in ["first", "second"].enumerated() {
      try workspace.put(bytes, as: BytePath(name))
      try bench.waitFor("\(name)") { $0.of("file").count == count + 1 }
    }
    let original = workspace.library.appending("originals")
      .appending(try #require(try workspace.files(below: "library/originals").first))
    if kind == 0 {
      try workspace.remove(original)
    } else {
      try workspace.damage(original, Array("the Only copy, thrice".utf8))
    }
    try workspace.put(bytes, as: "third")
    try bench.waitFor("the third") { $0.of("file").count == 3 }
    #expect(try workspace.read(original) == bytes)
    #expect(bench.errors.contains("is whole again"))
    bench.run.signal(SIGTERM)
    #expect(try bench.run.wait(within: 10).exitCode == 143)
    try workspace.expectSound()
  }

  @Test("Reading the configuration again and again leaves nothing open")
  func reloadLeak() throws {
    let bench = try Bench()
    func descriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(bench.run.process)/fd").count
    }
    var counts: [Int] = []
    for round in 1...4 {
      bench.run.signal(SIGHUP)
      try bench.waitFor("reload \(round)") { events in
        events.of("watch").count { $0["state"] == "watched" } > round
      }
      // The source is kept open for a second, and what is ended is let go of soon.
      usleep(1_500_000)
      let deadline = ContinuousClock.now + .seconds(10)
      while let first = counts.first, try descriptors() > first + 2,
        ContinuousClock.now < deadline
      {
        usleep(100_000)
      }
      counts.append(try descriptors())
    }
    #expect(counts[3] <= counts[0] + 2, "\(counts)")
  }

  @Test(
    "A file that can't be taken is not tried in a hot loop, and told once",
    .enabled(if: Unprivileged.isPossible, "The program can't be run as another user."))
  func unreadable() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "move"]], stages: [], ["rescan": "1s"])
    try Unprivileged.handOver(workspace)
    let run = try workspace.program.start(["watch", "--json"])
    try Unprivileged.shell(
      "echo secret > a; chmod 000 a; chown 65534 a; mv a inbox/a.txt", in: workspace)
    func count(_ text: String) -> Int {
      String(decoding: run.outputSoFar, as: UTF8.self).ranges(of: text).count
    }
    try run.wait(for: "the failure") { count("\"failed\"") > 0 }
    let before = try Self.ticks(run.process)
    // Time enough for three looks through the source.
    usleep(3_500_000)
    let used = try Self.ticks(run.process) - before
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 12)
    #expect(outcome.exitCode == 143)
    #expect(try outcome.events("file").map { $0["outcome"] } == ["failed"])
    // A loop would take hundreds, and beside other work still many.
    #expect(used < 40)
    try Unprivileged.shell("chmod 600 inbox/a.txt", in: workspace)
    #expect(try workspace.json("run").outcome("a.txt") == "imported")
  }

  @Test("SIGINT ends it with 130, and what came meanwhile is left for the next time")
  func interrupt() throws {
    let bench = try Bench(settle: "60s")
    try bench.workspace.put("young", as: "young.txt")
    usleep(300_000)
    bench.run.signal(SIGINT)
    #expect(try bench.run.wait(within: 12).exitCode == 130)
    #expect(bench.workspace.exists("inbox/young.txt"))
    #expect(!bench.workspace.exists("library/control"))
    try bench.workspace.configure()
    #expect(try bench.workspace.json("run").outcome("young.txt") == "imported")
    try bench.workspace.expectSound()
  }

  @Test("A signal in the middle of many files ends it within 10 s, a second one at once")
  func signals() throws {
    for isTwice in [false, true] {
      let bench = try Bench(settle: "0ms", stages: [])
      for number in 0..<2000 {
        try bench.workspace.put("file \(number)", as: BytePath("f\(number).txt"))
      }
      try bench.waitFor("the first files") { !$0.of("file").isEmpty }
      let start = ContinuousClock.now
      bench.run.signal(SIGTERM)
      if isTwice {
        usleep(600_000)
        bench.run.signal(SIGTERM)
      }
      #expect(try bench.run.wait(within: 12).exitCode == 143)
      #expect(ContinuousClock.now - start < .seconds(10))
      try bench.workspace.configure(stages: [])
      try bench.workspace.json("run")
      #expect(try bench.workspace.files(below: "inbox") == [])
      #expect(try bench.workspace.assets().count == 2000)
      try bench.workspace.expectSound()
    }
  }

  @Test("SIGHUP has a valid configuration taken up, and an invalid one refused with its reason")
  func reload() throws {
    let bench = try Bench()
    let other = try TemporaryFolder()
    try bench.workspace.put("unseen", as: "a.txt", in: other.path)
    let sources: JSONValue = [
      ["path": "inbox", "settle": "0ms", "mode": "move"],
      ["path": .string(other.path.description), "settle": "0ms", "mode": "copy"],
    ]
    try bench.workspace.write(Array("{".utf8), to: "pipeline.json")
    bench.run.signal(SIGHUP)
    try bench.waitFor("a refusal") { $0.of("error").count == 1 }
    try bench.workspace.configure(sources: sources, ["library": "another"])
    bench.run.signal(SIGHUP)
    try bench.waitFor("another refusal") { $0.of("error").count == 2 }
    try bench.workspace.put("still", as: "still.txt")
    try bench.waitForImport(of: "still.txt")
    try bench.workspace.configure(sources: sources)
    bench.run.signal(SIGHUP)
    try bench.waitForImport(of: "a.txt")
    #expect(!bench.workspace.exists("another"))
    let events = try bench.end()
    // The session before the last configuration, and the one after it.
    #expect(events.of("summary").map { $0["imported"]?.integer } == [1, 1])
    try bench.workspace.expectSound()
  }

  @Test("A second one ends at once with 11, and so does a run")
  func locked() throws {
    let bench = try Bench()
    // The first one holds the library for as long as this test lets it.
    #expect(try bench.workspace.run("watch").exitCode == 11)
    #expect(try bench.workspace.run("run").exitCode == 11)
    try bench.workspace.put("mine", as: "mine.txt")
    try bench.waitForImport(of: "mine.txt")
    try bench.end()
    let again = try bench.workspace.program.start(["watch", "--wait", "10s"])
    try bench.workspace.waitForHolder(again)
    again.signal(SIGTERM)
    #expect(try again.wait(within: 12).exitCode == 143)
  }

  @Test("An idle watch uses no measurable processor time")
  func idle() throws {
    let bench = try Bench()
    try bench.workspace.put("warm", as: "warm.txt")
    try bench.waitFor("two jobs") { $0.of("job").count == 2 }
    // It comes to rest when what follows the last job is done; how soon depends on the machine.
    var used: [Int] = []
    repeat {
      let before = try Self.ticks(bench.run.process)
      usleep(5_000_000)
      used.append(try Self.ticks(bench.run.process) - before)
      // One tick is a hundredth of a second.
    } while used.last.map { $0 > 1 } == true && used.count < 8
    #expect(used.last.map { $0 <= 1 } == true, "\(used)")
    try bench.end()
  }

  /// The processor time of a process in hundredths of a second. Source: proc(5).
  private static func ticks(_ process: Int32) throws -> Int {
    let text = String(
      decoding: try Descriptor.openFolder(BytePath("/proc/\(process)")).readFile("stat"),
      as: UTF8.self)
    let fields = text.drop { $0 != ")" }.split(separator: " ")
    return try #require(Int(fields[12])) + #require(Int(fields[13]))
  }
}

extension [JSONValue] {
  /// The first or last outcome of the path with a name.
  func outcome(_ name: String, last: Bool) -> String? {
    let events = of("file").filter { $0["path"]?.string?.hasSuffix("/\(name)") == true }
    return (last ? events.last : events.first)?["outcome"]?.string
  }
}
