import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Originals
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Synchronization
import Testing

@testable import Engine

@Suite("The engine", .timeLimit(.minutes(2)))
struct SchedulingTests {
  let fixture: EngineFixture

  init() throws { fixture = try EngineFixture() }

  /// A plugin that makes one rendition of some bytes.
  private func thumb(
    _ bytes: [UInt8] = [1, 2, 3], accepts: [String]? = ["image/*"]
  ) -> FakeBackend {
    FakeBackend(FakeBackend.manifest("thumb", accepts: accepts)) { request, _ in
      writeOutput(bytes, "grid.jpg", request)
      return .done(facts: ["made": true], renditions: [rendition("grid", at: "grid.jpg")])
    }
  }

  private func plain(_ work: @escaping FakeBackend.Work) -> FakeBackend {
    FakeBackend(FakeBackend.manifest("plain"), work: work)
  }

  // MARK: What a job gets and gives

  @Test("Jobs run after what they need, are given its facts, and what they made is recorded")
  func wholeWay() throws {
    let asset = try fixture.add("picture", name: "a.jpg")
    let (identify, thumb) = (FakeBackend.identify(), thumb())
    let events = try fixture.run(
      [.stage("t", "thumb") { $0.options = ["size": 9] }], [identify, thumb])
    #expect(events.map(\.stage) == ["identify", "t"])
    #expect(events.allSatisfy { $0.outcome == .done && $0.asset == asset })
    let request = try #require(thumb.requests.first)
    #expect(request.facts["identify"]?["width"] == 30)
    #expect(request.options["size"] == 9 && request.version == 1)
    // What was not set has the schema's default.
    #expect(request.options["name"] == "x")
    #expect(request.asset.name == "a.jpg" && request.asset.size == 7)
    #expect(request.input.hasSuffix(request.asset.digest.hex))
    let made = try #require(try fixture.renditions(of: asset).first)
    #expect(made.name == "grid" && made.bytes == 3 && made.path == nil && !made.isStale)
    #expect(try fixture.reader.renditionBytes(made.id) == [1, 2, 3])
    #expect(try fixture.jobs(of: asset)["t"]?.facts == ["made": true])
    #expect(try fixture.files("work").isEmpty)
  }

  @Test("A second run with nothing changed runs no job, a changed option those it affects")
  func again() throws {
    for number in 0..<5 { try fixture.add("content \(number)") }
    let (identify, thumb) = (FakeBackend.identify(), thumb())
    let stages: [StageConfiguration] = [
      .stage("a", "thumb"), .stage("b", "thumb") { $0.options = ["size": 1] },
    ]
    #expect(try fixture.run(stages, [identify, thumb]).count == 15)
    #expect(try fixture.run(stages, [identify, thumb]).isEmpty)
    var changed = stages
    changed[1].options = ["size": 2]
    let events = try fixture.run(changed, [identify, thumb])
    #expect(events.count == 5 && events.allSatisfy { $0.stage == "b" })
  }

  @Test("Assets with the same bytes share a job and its renditions")
  func shared() throws {
    let assets = [try fixture.add("same"), try fixture.add("same")]
    let thumb = thumb(accepts: nil)
    #expect(try fixture.run([.stage("t", "thumb")], [thumb]).count == 1)
    for asset in assets { #expect(try fixture.renditions(of: asset).count == 1) }
  }

  @Test("A type that the plugin does not accept is skipped without the plugin being asked")
  func skipped() throws {
    let asset = try fixture.add("text")
    let thumb = thumb()
    let events = try fixture.run(
      [.stage("t", "thumb")], [.identify(["mediaType": "text/plain"]), thumb])
    #expect(events.last?.outcome == .skipped)
    #expect(events.last?.reason?.contains("text/plain") == true)
    #expect(thumb.jobs == 0)
    #expect(try fixture.jobs(of: asset)["t"]?.state == .skipped)
  }

  @Test("A stage works on the types that it accepts of those that its plugin accepts")
  func acceptedByStage() throws {
    let types = ["image/png": 3, "image/jpeg": 4, "text/plain": 5]
    let identify = FakeBackend(FakeBackend.manifest("identify")) { request, _ in
      let type = types.first { $0.value == request.asset.size }?.key ?? "other/other"
      return .done(facts: ["mediaType": .string(type)])
    }
    let assets = try ["png", "jpeg", "plain"].map { try fixture.add($0) }
    let open = plain { _, _ in .done() }
    let narrow = thumb(accepts: ["image/jpeg", "text/*"])
    func stages(_ accepts: [String]) -> [StageConfiguration] {
      [
        .stage("o", "plain") { $0.accepts = accepts },
        .stage("n", "thumb") { $0.accepts = ["image/*", "text/plain"] },
      ]
    }
    try fixture.run(stages(["image/png"]), [identify, open, narrow])
    func states(_ stage: String) throws -> [LedgerState?] {
      try assets.map { try fixture.jobs(of: $0)[stage]?.state }
    }
    #expect(try states("o") == [.done, .skipped, .skipped])
    #expect(try states("n") == [.skipped, .done, .done])
    let excluded = try #require(try fixture.jobs(of: assets[1])["o"])
    #expect(excluded.reason == "The “accepts” of the stage o leaves out image/jpeg.")
    #expect(excluded.failureClass == "permanent")
    let unsupported = try #require(try fixture.jobs(of: assets[0])["n"])
    #expect(unsupported.reason == "The plugin thumb does not work on image/png.")
    #expect(unsupported.failureClass == nil)
    // What is done stays, and what was skipped is looked at again.
    try fixture.run(stages(["image/*"]), [identify, open, narrow])
    #expect(try states("o") == [.done, .done, .skipped])
    #expect(open.jobs == 2)
  }

  @Test("A type that the plugin lacks something for is skipped with what it lacks, until it has it")
  func lacking() throws {
    let asset = try fixture.add("raw")
    let identify = FakeBackend.identify(["mediaType": "image/x-raw"])
    var manifest = FakeBackend.manifest("thumb", accepts: ["image/png"])
    manifest.lacks = [.init(accepts: ["image/x-raw"], reason: "Install libraw-dev.")]
    let stages: [StageConfiguration] = [.stage("t", "thumb")]
    let lacking = FakeBackend(manifest) { _, _ in .done() }
    let event = try #require(try fixture.run(stages, [identify, lacking]).last)
    #expect(event.outcome == .skipped && event.reason == "Install libraw-dev.")
    let job = try #require(try fixture.jobs(of: asset)["t"])
    #expect(job.state == .skipped && job.failureClass == "environment")
    #expect(try fixture.reader.failureCount() == 0)
    let whole = FakeBackend(FakeBackend.manifest("thumb", accepts: ["image/png", "image/x-raw"])) {
      _, _ in .done()
    }
    #expect(try fixture.run(stages, [identify, whole]).map(\.outcome) == [.done])
    #expect(try fixture.jobs(of: asset)["t"]?.failureClass == nil)
  }

  @Test(
    "What was skipped for its type is looked at again once the plugin accepts other types",
    arguments: ["1", "2"])
  func acceptedLater(version: String) throws {
    let asset = try fixture.add("text")
    let picture = try fixture.add("picture")
    let skipping = FakeBackend(FakeBackend.manifest("own")) { request, _ in
      request.asset.size == 4 ? .skipped(reason: "Nothing to see.") : .done()
    }
    let identify = FakeBackend(FakeBackend.manifest("identify")) { request, _ in
      .done(facts: ["mediaType": request.asset.size == 4 ? "text/plain" : "image/png"])
    }
    let stages: [StageConfiguration] = [
      .stage("t", "thumb"), .stage("after", "plain", needs: ["t"]), .stage("o", "own"),
    ]
    let plain = plain { _, _ in .done() }
    try fixture.run(stages, [identify, thumb(), plain, skipping])
    #expect(try fixture.jobs(of: asset)["after"]?.state == .skipped)
    var manifest = FakeBackend.manifest("thumb", accepts: ["text/*"])
    manifest.version = version
    let later = FakeBackend(manifest) { _, _ in .done() }
    let events = try fixture.run(stages, [identify, later, plain, skipping])
    // What is done, and what the other plugin itself skipped, is left as it is.
    #expect(events.map(\.stage) == ["t", "after"])
    #expect(events.allSatisfy { $0.asset == asset && $0.outcome == .done })
    #expect(try fixture.jobs(of: picture)["t"]?.state == .done)
    #expect(try fixture.run(stages, [identify, later, plain, skipping]).isEmpty)
  }

  @Test("A plugin may skip by itself, saying why")
  func skippedByPlugin() throws {
    try fixture.add("x")
    let events = try fixture.run(
      [.stage("s", "plain")], [plain { _, _ in .skipped(reason: "Nothing to see.") }])
    #expect(events.map(\.outcome) == [.skipped])
    #expect(events.first?.reason == "Nothing to see.")
  }

  // MARK: Failures

  @Test("A permanent failure is recorded, skips what needs it, and is not tried again")
  func permanent() throws {
    let asset = try fixture.add("broken")
    let whole = try fixture.add("whole")
    let backends = [
      plain { request, _ in
        request.asset.size == 6 ? .failed(PluginFailure(.permanent, "Broken.")) : .done()
      }, thumb(accepts: nil),
    ]
    let stages: [StageConfiguration] = [
      .stage("p", "plain"), .stage("t", "thumb", needs: ["p"]),
    ]
    let events = try fixture.run(stages, backends)
    #expect(events.filter { $0.outcome == .failed }.map(\.asset) == [asset])
    #expect(events.first { $0.outcome == .failed }?.failureClass == "permanent")
    #expect(try fixture.jobs(of: asset).mapValues(\.state) == ["p": .failed, "t": .skipped])
    #expect(try fixture.jobs(of: asset)["p"]?.reason == "Broken.")
    #expect(try fixture.jobs(of: whole).mapValues(\.state) == ["p": .done, "t": .done])
    #expect(try fixture.run(stages, backends).isEmpty)
  }

  @Test("A transient failure is due again later, longer each time, and fails after the last try")
  func transient() throws {
    let asset = try fixture.add("x")
    let backend = plain { _, _ in .failed(PluginFailure(.transient, "Full.")) }
    let stages: [StageConfiguration] = [.stage("p", "plain") { $0.attempts = 4 }]
    #expect(try fixture.run(stages, [backend]).map(\.failureClass) == ["transient"])
    let first = try #require(try fixture.jobs(of: asset)["p"])
    #expect(first.state == .ready && first.attempts == 1)
    let due = try #require(first.notBefore)
    #expect(due > .now.adding(seconds: 20) && due < .now.adding(seconds: 31))
    // Before its time it is left alone.
    #expect(try fixture.run(stages, [backend]).isEmpty && backend.jobs == 1)

    // The same, with delays that are over at once.
    let fixture = try EngineFixture()
    let other = try fixture.add("y")
    let ledger = HastyLedger(fixture.catalog)
    let engine = try fixture.engine(try fixture.plan(stages, [backend]), ledger: ledger)
    try engine.drain { false }
    #expect(backend.jobs == 5)
    let delays = ledger.delays
    try #require(delays.count == 4)
    for (delay, expected) in zip(delays, [30.0, 120, 480]) {
      let delay = try #require(delay)
      #expect(delay > expected - 10 && delay < expected + 1, "\(delays)")
    }
    #expect(delays[3] == nil)
    let last = try #require(try fixture.jobs(of: other)["p"])
    #expect(last.state == .failed && last.attempts == 4 && last.failureClass == "transient")
    try engine.drain { false }
    #expect(backend.jobs == 5)
  }

  @Test("A failure of the machine holds the stage, and its jobs count for nothing")
  func environment() throws {
    for number in 0..<20 { try fixture.add("content \(number)") }
    let backend = plain { _, _ in .failed(PluginFailure(.environment, "No decoder.")) }
    let other = thumb(accepts: nil)
    let stages: [StageConfiguration] = [.stage("p", "plain", width: 1), .stage("t", "thumb")]
    let events = try fixture.run(stages, [backend, other])
    #expect(fixture.report.held == ["p: No decoder."])
    #expect(backend.jobs < 10)
    #expect(events.filter { $0.stage == "t" }.count == 20)
    #expect(try fixture.catalog.backlog()["p"] == [.ready: 20])
    for asset in try assets() { #expect(try fixture.jobs(of: asset)["p"]?.attempts == 0) }
    // Repaired, everything runs.
    let repaired = try fixture.run(stages, [plain { _, _ in .done() }, other])
    #expect(repaired.count == 20)
  }

  @Test("A stage that is held in vain again changes only the assets that were tried")
  func heldAgain() throws {
    for number in 0..<20 { try fixture.add("content \(number)") }
    let stages: [StageConfiguration] = [.stage("p", "plain", width: 1)]
    let backend = plain { _, _ in .done() }
    backend.refusal.withLock { $0 = PluginFailure(.environment, "No room for it.") }
    try fixture.run(stages, [backend])
    let before = try fixture.reader.revision
    let engine = try fixture.engine(try fixture.plan(stages, [backend]))
    defer { engine.close() }
    try engine.drain { false }
    engine.releaseHeldStages()
    try engine.drain { false }
    // Each engine tells a reason once.
    #expect(fixture.report.held.count == 2)
    #expect(try fixture.reader.changes(since: before).assets.count < 20)
    for asset in try assets() {
      #expect(try fixture.jobs(of: asset)["p"]?.reason == "No room for it.")
    }
  }

  @Test("A stage counts as held until a job is done, or none has to be")
  func released() throws {
    for number in 0..<20 { try fixture.add("content \(number)") }
    let plan = try fixture.plan([.stage("p", "plain", width: 1)], [plain { _, _ in .done() }])
    try fixture.catalog.configure(plan.stages.map(\.definition))
    try fixture.catalog.hold(stage: "p", because: "Left by a kill.")
    let ledger = ReleaseLedger(ledger: fixture.catalog)
    let engine = try fixture.engine(plan, ledger: ledger)
    defer { engine.close() }
    try engine.drain { false }
    let first = ledger.ready.values
    #expect(first.count == 1 && first.allSatisfy { $0 > 0 && $0 < 20 }, "\(first)")
    let idle = try fixture.engine(plan, ledger: ledger)
    defer { idle.close() }
    try idle.drain { false }
    #expect(ledger.ready.values.dropFirst() == [0])
  }

  @Test("A job that fails before its plugin is asked releases no stage")
  func notAsked() throws {
    let lost = try fixture.add("lost")
    for number in 0..<20 { try fixture.add("content \(number)") }
    try fixture.originals.remove(try #require(try fixture.reader.asset(lost)).digest)
    let catalog = fixture.catalog
    let lacking = plain { _, _ in
      // Not in one group with the first.
      for _ in 0..<3000 where (try? catalog.backlog()["p"]?[.failed]) != 1 { usleep(10_000) }
      return .failed(PluginFailure(.environment, "No decoder."))
    }
    let plan = try fixture.plan([.stage("p", "plain", width: 1)], [lacking])
    try fixture.catalog.configure(plan.stages.map(\.definition))
    try fixture.catalog.hold(stage: "p", because: "Left by a kill.")
    let ledger = ReleaseLedger(ledger: fixture.catalog)
    let engine = try fixture.engine(plan, ledger: ledger)
    defer { engine.close() }
    try engine.drain { false }
    let job = try #require(try fixture.jobs(of: lost)["p"])
    #expect(job.failureClass == "permanent" && job.seconds == 0)
    #expect(fixture.report.held == ["p: No decoder."] && ledger.ready.values.isEmpty)
  }

  @Test("A stage that has no jobs but those under way is not released yet")
  func underWay() throws {
    try fixture.add("x")
    let ledger = ReleaseLedger(ledger: fixture.catalog)
    let running = Mutex<Engine?>(nil)
    let lacking = plain { _, _ in
      while ledger.hasClaimed.wait(timeout: .now()) == .success {}
      running.withLock { $0 }?.wake()
      ledger.hasClaimed.wait()
      return .failed(PluginFailure(.environment, "No decoder."))
    }
    let plan = try fixture.plan([.stage("p", "plain")], [lacking])
    try fixture.catalog.configure(plan.stages.map(\.definition))
    try fixture.catalog.hold(stage: "p", because: "Left by a kill.")
    let engine = try fixture.engine(plan, ledger: ledger)
    defer { engine.close() }
    running.withLock { $0 = engine }
    defer { running.withLock { $0 = nil } }
    try engine.drain { false }
    #expect(fixture.report.held == ["p: No decoder."] && ledger.ready.values.isEmpty)
  }

  @Test("However often the machine lacked something, a job has all of its own tries left")
  func triesAfterEnvironment() throws {
    let asset = try fixture.add("x")
    let lacking = plain { _, _ in .failed(PluginFailure(.environment, "No decoder.")) }
    let failing = plain { _, _ in .failed(PluginFailure(.transient, "Full.")) }
    let engine = try fixture.engine(try fixture.plan([.stage("p", "plain")], [lacking]))
    for _ in 1...4 {
      try engine.drain { false }
      engine.releaseHeldStages()
    }
    #expect(lacking.jobs == 4)
    let waiting = try #require(try fixture.jobs(of: asset)["p"])
    #expect(waiting.state == .ready && waiting.attempts == 0)
    #expect(waiting.failureClass == "environment" && waiting.reason == "No decoder.")
    try fixture.run([.stage("p", "plain")], [failing])
    let job = try #require(try fixture.jobs(of: asset)["p"])
    #expect(job.state == .ready && job.attempts == 1)
  }

  @Test("A plugin that can't be instantiated holds its stage, and no job is blamed")
  func noInstance() throws {
    let asset = try fixture.add("x")
    let backend = plain { _, _ in .done() }
    backend.refusal.withLock { $0 = PluginFailure(.environment, "No room for it.") }
    #expect(try fixture.run([.stage("p", "plain")], [backend]).isEmpty)
    #expect(fixture.report.held == ["p: No room for it."])
    #expect(try fixture.jobs(of: asset)["p"]?.attempts == 0)
    backend.refusal.withLock { $0 = nil }
    #expect(try fixture.run([.stage("p", "plain")], [backend]).count == 1)
  }

  @Test("A job over its time is asked to give up, and may be tried again")
  func timeout() throws {
    let asset = try fixture.add("x")
    let backend = plain { _, job in
      for _ in 0..<1000 where !job.isCancelled { usleep(5000) }
      return .failed(PluginFailure(.permanent, "Interrupted."))
    }
    let events = try fixture.run(
      [.stage("p", "plain") { $0.limits.time = TimeSpan(milliseconds: 50) }], [backend])
    #expect(events.first?.failureClass == "transient")
    #expect(events.first?.reason?.contains("50ms") == true)
    #expect(try fixture.jobs(of: asset)["p"]?.state == .ready)
    #expect(backend.requests.first?.deadline == 0.05)
  }

  @Test("An original that is missing fails its job and no other")
  func missingOriginal() throws {
    let lost = try fixture.add("lost")
    try fixture.add("there")
    let record = try #require(try fixture.reader.asset(lost))
    try fixture.originals.remove(record.digest)
    let events = try fixture.run([.stage("p", "plain")], [plain { _, _ in .done() }])
    #expect(Set(events.map(\.outcome)) == [.done, .failed])
    #expect(try fixture.jobs(of: lost)["p"]?.failureClass == "permanent")
  }

  @Test("An original that has a link or a folder in its place fails its job and no other")
  func obstructedOriginal() throws {
    for make in [{ symlink("/etc/passwd", $0) }, { mkdir($0, 0o700) }] as [(String) -> Int32] {
      let fixture = try EngineFixture()
      let lost = try fixture.add("lost")
      try fixture.add("there")
      let record = try #require(try fixture.reader.asset(lost))
      let path = try fixture.originals.lease(record.digest).path
      try #require(unlink("\(path)") == 0 && make("\(path)") == 0)
      let events = try fixture.run([.stage("p", "plain")], [plain { _, _ in .done() }])
      #expect(Set(events.map(\.outcome)) == [.done, .failed])
      let job = try fixture.jobs(of: lost)["p"]
      #expect(job?.failureClass == "permanent")
      #expect(job?.reason?.contains("not a regular file") == true)
    }
  }

  // MARK: Limits

  @Test(
    "An estimate that no machine has can't be summed to nonsense",
    arguments: [1 << 62, Int.max, Int.min, -1, 0])
  func absurdEstimate(bytes: Int) throws {
    for name in ["a", "b", "c", "d"] { try fixture.add(name) }
    let backend = FakeBackend(
      FakeBackend.manifest("plain", estimates: true), estimate: { _ in bytes }
    ) { _, _ in .done() }
    let events = try fixture.run([.stage("p", "plain") { $0.concurrency = 4 }], [backend])
    #expect(events.map(\.outcome) == [.done, .done, .done, .done])
  }

  @Test("A job above its stage's cap fails with both figures and never begins")
  func memoryCap() throws {
    let asset = try fixture.add("x")
    let backend = FakeBackend(
      FakeBackend.manifest("plain", estimates: true), estimate: { _ in 3 << 30 }
    ) { _, _ in .done() }
    try fixture.run(
      [.stage("p", "plain") { $0.limits.memory = ByteSize(bytes: 1 << 30) }], [backend])
    let job = try #require(try fixture.jobs(of: asset)["p"])
    #expect(job.state == .failed && job.failureClass == "permanent" && backend.jobs == 0)
    #expect(job.reason?.contains("3 GiB") == true && job.reason?.contains("1 GiB") == true)
    // A wider cap makes it ready again.
    try fixture.run(
      [.stage("p", "plain") { $0.limits.memory = ByteSize(bytes: 4 << 30) }], [backend])
    #expect(try fixture.jobs(of: asset)["p"]?.state == .done)
  }

  @Test("A job that failed where its stage has no limit is tried again with more memory for all")
  func largerBudget() throws {
    let asset = try fixture.add("x")
    let stages: [StageConfiguration] = [.stage("p", "plain")]
    let failing = plain { _, _ in .failed(PluginFailure(.permanent, "It needed more memory.")) }
    try fixture.run(stages, [failing], budget: 1 << 30)
    try fixture.run(stages, [failing], budget: 1 << 30)
    #expect(failing.jobs == 1)
    try fixture.run(stages, [plain { _, _ in .done() }], budget: 2 << 30)
    #expect(try fixture.jobs(of: asset)["p"]?.state == .done)
    // A stage that has its own limit has nothing from it.
    let own: [StageConfiguration] = [
      .stage("q", "plain") {
        $0.options = ["size": 9]
        $0.limits.memory = ByteSize(bytes: 64 << 20)
      }
    ]
    try fixture.run(own, [failing], budget: 1 << 30)
    try fixture.run(own, [failing], budget: 2 << 30)
    #expect(failing.jobs == 2)
  }

  @Test("Too many bytes, pixels or frames fail before the plugin is asked")
  func inputLimits() throws {
    let facts: JSONValue = ["mediaType": "image/gif", "width": 100, "height": 50, "pages": 10]
    let limits: [(StageLimits) -> StageLimits] = [
      {
        var limits = $0; limits.inputBytes = ByteSize(bytes: 4); return limits
      },
      {
        var limits = $0; limits.frames = 9; return limits
      },
      {
        var limits = $0; limits.pixels = 49_999; return limits
      },
    ]
    for limit in limits {
      let fixture = try EngineFixture()
      let asset = try fixture.add("hello")
      let thumb = thumb()
      try fixture.run(
        [.stage("t", "thumb") { $0.limits = limit($0.limits) }], [.identify(facts), thumb])
      let job = try #require(try fixture.jobs(of: asset)["t"])
      #expect(job.state == .failed && job.failureClass == "permanent" && thumb.jobs == 0)
    }
    let asset = try fixture.add("hello")
    try fixture.run(
      [
        .stage("t", "thumb") {
          $0.limits.inputBytes = ByteSize(bytes: 5)
          $0.limits.frames = 10
          $0.limits.pixels = 50_000
        }
      ], [.identify(facts), thumb()])
    #expect(try fixture.jobs(of: asset)["t"]?.state == .done)
  }

  @Test("Too much output fails, and nothing of it is kept")
  func outputLimits() throws {
    for change: (inout StageLimits) -> Void in [
      { $0.outputBytes = ByteSize(bytes: 2) }, { $0.files = 0 },
    ] {
      let fixture = try EngineFixture()
      let asset = try fixture.add("x")
      try fixture.run(
        [.stage("t", "thumb") { change(&$0.limits) }], [thumb(accepts: nil)])
      #expect(try fixture.jobs(of: asset)["t"]?.state == .failed)
      #expect(try fixture.renditions(of: asset).isEmpty)
      #expect(try fixture.files("work").isEmpty)
    }
  }

  // MARK: Order and width

  @Test("Never more jobs than the width, an instance for one job at a time", arguments: [1, 3])
  func width(width: Int) throws {
    for number in 0..<40 { try fixture.add("content \(number)") }
    let begun = Mutex(0)
    let backend = plain { _, _ in
      begun.withLock { $0 += 1 }
      // The first waits for a second one beside it, however busy the machine is.
      for _ in 0..<10_000 where width > 1 && begun.withLock({ $0 }) < 2 { usleep(1000) }
      usleep(2000)
      return .done()
    }
    let events = try fixture.run([.stage("p", "plain", width: width)], [backend])
    #expect(events.count == 40 && events.allSatisfy { $0.outcome == .done })
    #expect(backend.mostAtOnce <= width && backend.instances <= width)
    #expect(width == 1 || backend.mostAtOnce > 1)
  }

  @Test("The memory budget keeps jobs apart that do not fit together")
  func budget() throws {
    for number in 0..<12 { try fixture.add("content \(number)") }
    let backend = FakeBackend(
      FakeBackend.manifest("plain", estimates: true), estimate: { _ in 600 }
    ) { _, _ in
      usleep(3000)
      return .done()
    }
    // Two would need 1200.
    let events = try fixture.run([.stage("p", "plain", width: 4)], [backend], budget: 1000)
    #expect(events.count == 12 && backend.mostAtOnce == 1)
    // Above the whole budget they run, too, one by one.
    let other = try EngineFixture()
    for number in 0..<4 { try other.add("content \(number)") }
    #expect(try other.run([.stage("p", "plain", width: 4)], [backend], budget: 100).count == 4)
    #expect(backend.mostAtOnce == 1)
  }

  @Test("Assets that come while stages run are worked on as well")
  func wake() throws {
    let backend = plain { _, _ in .done() }
    let engine = try fixture.engine(try fixture.plan([.stage("p", "plain")], [backend]))
    engine.wake()
    for number in 0..<10 {
      try fixture.add("content \(number)")
      engine.wake()
    }
    try engine.drain { false }
    #expect(fixture.report.events.count == 10)
  }

  // MARK: Stopping

  @Test("A stop lets running jobs end, gives the others back, and blames none")
  func stop() throws {
    for number in 0..<30 { try fixture.add("content \(number)") }
    let started = DispatchSemaphore(value: 0)
    let backend = plain { _, job in
      started.signal()
      for _ in 0..<2000 where !job.isCancelled { usleep(2000) }
      return .done()
    }
    let engine = try fixture.engine(
      try fixture.plan([.stage("p", "plain", width: 2)], [backend]))
    engine.wake()
    started.wait()
    engine.stop(deadline: ContinuousClock().now + .seconds(20))
    let backlog = try #require(try fixture.catalog.backlog()["p"])
    #expect(backlog[.running] == nil)
    #expect(backlog[.done, default: 0] + backlog[.ready, default: 0] == 30)
    #expect(backlog[.done, default: 0] == backend.jobs && backend.jobs <= 2)
    // Nothing was interrupted: the next engine finds every row as new.
    #expect(
      try fixture.run([.stage("p", "plain")], [plain { _, _ in .done() }]).count == 30
        - backend.jobs)
    for asset in try assets() { #expect(try fixture.jobs(of: asset)["p"]?.attempts == 1) }
  }

  @Test("Jobs that are being claimed while a stop comes are given back as well")
  func stopWhileClaiming() throws {
    for number in 0..<5 { try fixture.add("content \(number)") }
    let ledger = SlowLedger(fixture.catalog)
    let engine = try fixture.engine(
      try fixture.plan([.stage("p", "plain")], [plain { _, _ in .done() }]), ledger: ledger)
    engine.wake()
    ledger.isClaiming.wait()
    let stopped = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      engine.stop(deadline: ContinuousClock().now + .seconds(20))
      stopped.signal()
    }
    usleep(200_000)
    ledger.mayGoOn.signal()
    stopped.wait()
    #expect(try fixture.catalog.backlog()["p"] == [.ready: 5])
  }

  @Test("A stop of an engine without jobs asks nothing of the ledger, which may be away")
  func stopWithoutLedger() throws {
    let ledger = AwayLedger(fixture.catalog)
    let engine = try fixture.engine(
      try fixture.plan([.stage("p", "plain")], [plain { _, _ in .done() }]), ledger: ledger)
    for _ in 0..<2 { engine.stop(deadline: ContinuousClock().now + .seconds(20)) }
    #expect(engine.activity == .idle && ledger.requests == 0)
    #expect(fixture.report.warnings == [])
  }

  @Test("A wake-up that comes while jobs are claimed is not lost")
  func wakeWhileClaiming() throws {
    try fixture.add("first")
    let ledger = SlowLedger(fixture.catalog)
    let second = DispatchSemaphore(value: 0)
    let haveMet = Atomic(false)
    let backend = plain { request, _ in
      if request.asset.name == "1.jpg" {
        haveMet.store(second.wait(timeout: .now() + 10) == .success, ordering: .relaxed)
      } else {
        second.signal()
      }
      return .done()
    }
    let engine = try fixture.engine(
      try fixture.plan([.stage("p", "plain")], [backend]), ledger: ledger)
    engine.wake()
    ledger.isClaiming.wait()
    // Too late for the claim that is under way.
    try fixture.add("second")
    engine.wake()
    ledger.mayGoOn.signal()
    for _ in 0..<1500 where try fixture.catalog.backlog()["p"] != [.done: 2] { usleep(10_000) }
    // The second job did not have to wait for the end of the first.
    let met = haveMet.load(ordering: .relaxed)
    #expect(met)
    #expect(try fixture.catalog.backlog()["p"] == [.done: 2])
    engine.stop(deadline: ContinuousClock().now + .seconds(20))
  }

  private func assets() throws -> [AssetID] {
    var assets: [AssetID] = []
    try fixture.reader.assets { assets.append($0.id) }
    return assets
  }
}

/// A ledger that counts the ready rows each time that a stage is released.
private struct ReleaseLedger: WrappedLedger {
  final class Counts: Sendable {
    private let counted = Mutex<[Int]>([])
    var values: [Int] { counted.withLock { $0 } }
    func add(_ count: Int) { counted.withLock { $0.append(count) } }
  }

  let ledger: any Ledger
  let ready = Counts()
  let hasClaimed = DispatchSemaphore(value: 0)

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    defer { hasClaimed.signal() }
    return try ledger.claim(stage: stage, limit: limit, suspects: suspects)
  }

  func hold(stage: String, because reason: String?) throws(CatalogError) {
    if reason == nil { ready.add(try ledger.backlog()[stage]?[.ready] ?? 0) }
    try ledger.hold(stage: stage, because: reason)
  }
}
