import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Synchronization
import Testing

/// What goes wrong on one machine of several: a full disk, a wrong clock, a file that kills workers, signals to all.
@Suite(
  "Faults of machines that share a library",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(10)))
struct MachineFaultTests: WorkSuite {
  private static let deadly = #"case $line in *deadly*) kill -SEGV $$ ;; esac"#

  @Test("A file that kills its worker is given up after its attempts, whichever machines try it")
  func deadlyFile() throws {
    let bench = try JoinedBench(stages: [SmallPlugin.stage]) {
      try SmallPlugin.write(into: $0, process: Self.deadly)
    }
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    let worker = try bench.startWork()
    var runs = [watch, second, worker]
    try bench.put((0..<60).map { "\($0).txt" })
    try bench.put(["deadly.txt"])
    try bench.shared.wait(for: "its first attempt, and all others") {
      // Only the second machine can remove its files.
      try bench.shared.count("attempt WHERE outcome <> 'done'") > 0
        && bench.shared.count("ledger WHERE state = 'done'") == 60
        && bench.workspace.files(below: "from-second").isEmpty
    }
    // Whoever made it leaves the next one to others.
    let first = try bench.shared.database.first(
      """
      SELECT CASE WHEN taker THEN 0 WHEN node = 'second' THEN 1 ELSE 2 END FROM pipeline.participant
      WHERE id = (SELECT participant FROM pipeline.attempt WHERE outcome <> 'done' ORDER BY id LIMIT 1)
      """)
    try bench.end(runs.remove(at: Int(first)))
    try bench.shared.wait(for: "its failure") {
      // It would be tried again after half a minute, and two.
      try bench.shared.database.execute(
        """
        BEGIN; SET LOCAL session_replication_role = replica;
        UPDATE pipeline.ledger SET not_before = 1 WHERE state = 'ready' AND not_before > 1; COMMIT;
        NOTIFY pipeline
        """)
      return try bench.shared.count("ledger WHERE state = 'failed'") == 1
    }
    try bench.wait(forFiles: 61)
    #expect(try bench.shared.count("ledger WHERE state = 'done'") == 60)
    #expect(try bench.shared.count("ledger WHERE state = 'failed'") == 1)
    let failures = try bench.workspace.json("failed").of("failure")
    #expect(failures.map { $0["name"]?.string } == ["deadly.txt"])
    let tries = try bench.shared.count("attempt WHERE outcome <> 'done'")
    #expect(tries == 3, "\(tries) attempts")
    let makers = try bench.shared.database.first(
      "SELECT count(DISTINCT participant) FROM pipeline.attempt WHERE outcome <> 'done'")
    #expect(makers > 1)
    // Nobody tries it again, also not who begins later.
    let late = try bench.workspace.json("work", "--until-idle", "--config", "worker.json")
    #expect(late.summary["jobsDone"] == 0 && late.summary["jobsFailed"] == 0)
    for run in runs.reversed() { try bench.end(run) }
    #expect(try bench.shared.count("attempt WHERE outcome <> 'done'") == tries)
    try bench.expectSound()
  }

  @Test("SIGTERM to all at once gives all back, and all is done once they begin again")
  func endOfAll() throws {
    let slow = Self.count(to: 100_000)
    let bench = try JoinedBench(stages: [SmallPlugin.stage]) {
      try SmallPlugin.write(into: $0, process: slow)
    }
    try bench.put((0..<150).map { "\($0).txt" })
    for index in 0..<150 {
      try bench.workspace.put("first \(index)", as: BytePath("first-\(index).txt"))
    }
    var ends = 0
    while try bench.shared.count("asset") < 300
      || bench.shared.count("ledger WHERE state <> 'done'") > 0
    {
      ends += 1
      try #require(ends < 40, "They do not get on.")
      let done = try bench.shared.count("ledger WHERE state = 'done'")
      let runs = [
        try bench.startWatch(), try bench.startJoined(), try bench.startWork(),
      ]
      try bench.shared.wait(for: "some jobs, of which others run") {
        let now = try bench.shared.count("ledger WHERE state = 'done'")
        return try now == 300
          || now > done + 20
            && bench.shared.count("ledger WHERE state = 'running'") > 0
      }
      for run in runs { run.signal(SIGTERM) }
      for run in runs {
        let outcome = try run.wait(within: 30)
        #expect(outcome.exitCode == 143, "\(outcome)")
      }
      #expect(try bench.shared.count("participant WHERE state IN ('active', 'draining')") == 0)
      #expect(try bench.shared.count("ledger WHERE state = 'running'") == 0)
      #expect(try bench.shared.count("ledger WHERE interruptions > 0") == 0)
    }
    #expect(ends > 1)
    #expect(try bench.shared.count("attempt WHERE outcome = 'done'") == 300)
    #expect(try bench.workspace.files(below: "from-second").isEmpty)
    try bench.expectSound()
  }

  /// A process of several.
  enum Part: CaseIterable {
    case first, joined, work
  }

  /// Writes by how much the clock of a process is wrong.
  private func setClock(_ offset: String, _ bench: JoinedBench) throws -> BytePath {
    let clock = bench.workspace.root.appending("clock")
    try bench.workspace.write(Array("\(offset)\n".utf8), to: "clock.new")
    try #require(rename("\(clock).new", "\(clock)") == 0)
    return clock
  }

  @Test(
    "A clock that is an hour wrong costs no file and no attempt, whosever it is",
    arguments: Part.allCases, ["+1h", "-1h"])
  func clock(_ part: Part, _ offset: String) throws {
    let bench = try JoinedBench()
    let wrong = try bench.workspace.program.withClock(in: setClock(offset, bench))
    let watch = try bench.startWatch(part == .first ? wrong : nil)
    let second = try bench.startJoined("second", part == .joined ? wrong : nil)
    if part == .work {
      try bench.put(["0.txt", "1.txt"])
      try bench.wait(forFiles: 2)
      // So that the jobs are that machine's.
      for run in [second, watch] { try bench.end(run) }
      try bench.shared.database.execute(Self.again)
      let worker = try bench.startWork(wrong)
      try worker.wait(for: "the sentence about the clock") { hasSaid("set it right", worker) }
      #expect(try bench.shared.count("ledger WHERE state = 'ready' AND class IS NULL") == 2)
      _ = try setClock("+0", bench)
      try worker.wait(for: "its jobs", within: 120) { try ended(worker) == 2 }
      try bench.end(worker)
    } else {
      try bench.put(["second.txt"])
      try bench.workspace.put("of the first machine", as: "first.txt")
      let affected = part == .first ? watch : second
      try affected.wait(for: "the sentence about the clock", within: 90) {
        hasSaid("set it right", affected)
      }
      _ = try setClock("+0", bench)
      try bench.wait(forFiles: 2)
      for run in [second, watch] { try bench.end(run) }
    }
    #expect(try bench.shared.count("attempt WHERE outcome <> 'done'") == 0)
    #expect(try bench.shared.count("participant WHERE state = 'expired'") == 0)
    try bench.expectSound()
  }

  @Test(
    "A clock that is set back by ten minutes stops no pulse, and nobody takes the process for gone",
    arguments: Part.allCases)
  func clockSetBack(_ part: Part) throws {
    let bench = try JoinedBench()
    let wrong = try bench.workspace.program.withSetClock(in: setClock("600", bench))
    let watch = try bench.startWatch(part == .first ? wrong : nil)
    let second = try bench.startJoined("second", part == .joined ? wrong : nil)
    let worker = try bench.startWork(part == .work ? wrong : nil)
    try bench.put(["before.txt"])
    try bench.wait(forFiles: 1)
    _ = try setClock("0", bench)
    let moment = try bench.shared.database.first(
      "SELECT CAST(extract(epoch FROM clock_timestamp()) AS bigint)")
    try bench.put(["after.txt"])
    try bench.wait(forFiles: 2, within: 30)
    // Pulses come every ten seconds, and whoever has none for thirty is gone.
    try bench.shared.wait(for: "two pulses of all", within: 60) {
      try bench.shared.count(
        "participant WHERE state = 'active' AND extract(epoch FROM renewed_at) > \(moment) + 12")
        == 3
    }
    #expect(try bench.shared.count("participant WHERE state = 'expired'") == 0)
    for run in [worker, second, watch] {
      let start = ContinuousClock.now
      try bench.end(run)
      #expect(ContinuousClock.now - start < .seconds(12))
    }
    try bench.expectSound()
  }

  @Test("Whoever is told to end while it is stopped, and taken for gone, ends once it goes on")
  func stoppedDrain() throws {
    let bench = try JoinedBench()
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    let worker = try bench.startWork()
    for run in [second, worker] { try bench.shared.stop(run) }
    let number = "SELECT lpad(to_hex(id), 16, '0') FROM pipeline.participant WHERE verb = 'work'"
    let id = try bench.shared.database.text(number)
    for name in ["second", id] { try bench.workspace.json("nodes", "drain", BytePath(name)) }
    // As when they were not heard of for half a minute.
    try bench.shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE NOT taker")
    try bench.shared.wait(for: "the rescue") {
      try bench.shared.count("participant WHERE state = 'draining'") == 0
    }
    for run in [second, worker] { run.signal(SIGCONT) }
    for run in [second, worker] {
      let outcome = try run.wait(within: 60)
      #expect(outcome.exitCode == 0, "\(outcome)")
    }
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "Local copies make room for files to be imported",
    .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
  func cacheMakesRoom() throws {
    let bench = try JoinedBench()
    let disk = try MemoryDisk("size=8m")
    var program = bench.workspace.program
    program.prefix = Array(disk.prefix.dropLast()) + [bench.workspace.root.description]
    try bench.add(
      "second", [:],
      ["library": .string(disk.folder.path.appending("machine").description), "reserve": "256KiB"])
    let watch = try bench.startWatch()
    let second = try bench.startJoined("second", program)
    var random = SeededRandom(seed: 7)
    let folder = bench.workspace.root.appending("from-second")
    for number in 0..<20 {
      let bytes = (0..<1 << 17).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
      try bench.workspace.put(bytes, as: BytePath("\(number).bin"), in: folder)
    }
    try bench.wait(forFiles: 20)
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "A full disk of a machine that joins keeps its files where they are, until there is room",
    .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
  func fullDisk() throws {
    let bench = try JoinedBench()
    let disk = try MemoryDisk("size=1m")
    var program = bench.workspace.program
    // In the folder of the workspace, seeing the disk.
    program.prefix = Array(disk.prefix.dropLast()) + [bench.workspace.root.description]
    try bench.add(
      "second", [:],
      [
        "library": .string(disk.folder.path.appending("machine").description), "reserve": "0B",
      ])
    let watch = try bench.startWatch()
    let second = try bench.startJoined("second", program)
    var random = SeededRandom(seed: 7)
    let large = (0..<2 << 17).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    let folder = bench.workspace.root.appending("from-second")
    try bench.put(["small.txt"])
    try bench.wait(forFiles: 1)
    try bench.workspace.put(large, as: "large.bin", in: folder)
    try second.wait(for: "its message", within: 90) { hasSaid("free", second) }
    let (start, seconds) = (ContinuousClock.now, try second.processorSeconds())
    // The fault goes on for a while.
    while ContinuousClock.now < start + .seconds(5) { usleep(50_000) }
    #expect(try second.processorSeconds() - seconds < 2)
    #expect(try bench.workspace.files(below: "from-second") == ["large.bin"])
    try disk.remount("size=64m")
    try bench.wait(forFiles: 2)
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test(
    "A full disk of a process that works is no failure of a job, and others do it",
    .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
  func fullDiskAtWork() throws {
    let bench = try JoinedBench()
    let disk = try MemoryDisk("size=1m")
    var program = bench.workspace.program
    program.prefix = Array(disk.prefix.dropLast()) + [bench.workspace.root.description]
    try bench.shared.configure(
      "small.json", library: disk.folder.path.appending("machine").description,
      stages: [JoinedBench.identify], ["reserve": "0B"])
    // The first one is never done there, and keeps nothing else from it.
    for (number, size) in [2_000_000, 1000, 1000, 1000].enumerated() {
      try bench.workspace.put(
        Array(repeating: UInt8(number), count: size), as: BytePath("\(number).bin"))
    }
    try bench.workspace.json("run")
    try bench.shared.database.execute(Self.again)
    let small = try program.start(["work", "--json", "--config", "small.json"])
    try small.wait(for: "the others", within: 120) { try ended(small) == 3 }
    try small.wait(for: "the reason") { hasSaid("There is no room in", small) }
    let lines = try small.eventsSoFar().of("stage")
    #expect(
      lines.count == 1 && lines[0]["reason"]?.string?.contains("There is no room in") == true,
      "\(lines)")
    #expect(try bench.shared.count("attempt WHERE outcome = 'failed'") == 0)
    #expect(
      try bench.shared.count("ledger WHERE state = 'ready' AND class IS NULL AND attempts = 1") == 1
    )
    try bench.end(small)
    try bench.workspace.json("run")
    try bench.wait(forFiles: 4)
    #expect(try bench.shared.count("ledger WHERE state = 'done'") == 4)
    try bench.expectSound()
  }

  @Test(
    "gc that is stopped before it deletes lets nobody record, and what it deletes is sent again")
  func stoppedGarbageCollection() throws {
    let isHeld = Atomic(true)
    let deletions = Atomic(0)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      guard request.method == "DELETE", request.target.contains("/originals/") else { return .none }
      deletions.add(1, ordering: .relaxed)
      // Before the server gets it.
      while isHeld.load(ordering: .relaxed) { usleep(10_000) }
      return .none
    }
    defer {
      isHeld.store(false, ordering: .relaxed)
      proxy.end()
    }
    let bench = try JoinedBench(through: proxy.endpoint)
    try bench.workspace.put("the same", as: "first.txt")
    try bench.workspace.json("run")
    let id = BytePath(try #require(try bench.workspace.assets().first?["id"]?.string))
    try bench.workspace.json("rm", id)
    try bench.workspace.json("trash", "empty", "--yes")
    let gc = try bench.workspace.program.start(["gc", "--yes", "--json"])
    try gc.wait(for: "the request to delete") { deletions.load(ordering: .relaxed) == 1 }
    try gc.stop()
    // Nothing tells others that it is still at it.
    try bench.shared.database.execute(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name LIKE 'pipeline/%' AND datname = current_database()
      """)
    try bench.put(["again.txt"], text: "the same")
    let second = try bench.startJoined()
    let refused = try bench.workspace.run("run")
    #expect(refused.exitCode == 11, "\(refused)")
    #expect(try bench.shared.count("asset") == 0)
    isHeld.store(false, ordering: .relaxed)
    gc.signal(SIGCONT)
    let outcome = try gc.wait(within: 60)
    #expect(outcome.exitCode == 0, "\(outcome)")
    #expect(try bench.workspace.files(below: "from-second") == ["again.txt"])
    let watch = try bench.startWatch()
    try bench.wait(forFiles: 1)
    try bench.end(second)
    try bench.end(watch)
    #expect(try bench.workspace.files(below: "library/originals").count == 1)
    try bench.expectSound()
  }

  @Test(
    "A failed job is tried once more by the library's next version of its plugin, and not for ever")
  func otherVersion() throws {
    let failure = #"{"outcome":"failed","failure":{"class":"permanent","reason":"no"}}"#
    let failing = #"echo '{"type":"result","job":"'$job'","result":\#(failure)}'; continue"#
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    for (folder, version) in [("mine", "1"), ("newer", "2")] {
      try SmallPlugin.write(into: workspace, process: failing, folder: folder, version: version)
    }
    func configure(_ name: BytePath, _ folder: String) throws {
      try shared.configure(
        name, stages: [SmallPlugin.stage(in: folder)],
        ["sources": [["path": "inbox", "settle": "0ms", "mode": "move"]]])
    }
    try configure("older.json", "mine")
    try configure("newer.json", "newer")
    try shared.put(0..<1)
    try workspace.json("run", "--config", "older.json", exit: 3)
    #expect(try shared.count("attempt") == 1)
    // Who works beside does not decide that.
    for _ in 1...3 {
      for configuration in ["newer.json", "older.json"] as [BytePath] {
        try workspace.json("work", "--until-idle", "--config", configuration)
      }
    }
    #expect(try shared.count("attempt") == 1)
    try workspace.json("run", "--config", "newer.json", exit: 3)
    #expect(try shared.count("attempt") == 2)
    #expect(
      try shared.database.first("SELECT count(DISTINCT runtime) FROM pipeline.attempt") == 2)
    for _ in 1...3 {
      try workspace.json("work", "--until-idle", "--config", "older.json")
      try workspace.json("run", "--config", "newer.json")
    }
    #expect(try shared.count("attempt") == 2)
  }
}
