import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Originals
import PipelineModel
import PipelinePlugin
import Synchronization
import Testing

@testable import Engine

@Suite("The engine", .timeLimit(.minutes(2)))
struct EngineTests {
  let workshop: Workshop

  init() throws { workshop = try Workshop() }

  /// A plugin that makes one rendition of some bytes.
  private func thumb(
    _ bytes: [UInt8] = [1, 2, 3], accepts: [String]? = ["image/*"]
  ) -> FakeCarrier {
    FakeCarrier(FakeCarrier.manifest("thumb", accepts: accepts)) { request, _ in
      writeOutput(bytes, "grid.jpg", request)
      return .done(facts: ["made": true], renditions: [rendition("grid", at: "grid.jpg")])
    }
  }

  private func plain(_ work: @escaping FakeCarrier.Work) -> FakeCarrier {
    FakeCarrier(FakeCarrier.manifest("plain"), work: work)
  }

  // MARK: What a job gets and gives

  @Test("Jobs run after what they need, are given its facts, and what they made is recorded")
  func wholeWay() throws {
    let asset = try workshop.add("picture", name: "a.jpg")
    let (identify, thumb) = (FakeCarrier.identify(), thumb())
    let events = try workshop.run(
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
    let made = try #require(try workshop.renditions(of: asset).first)
    #expect(made.name == "grid" && made.bytes == 3 && made.path == nil && !made.isStale)
    #expect(try workshop.reader.renditionBytes(made.id) == [1, 2, 3])
    #expect(try workshop.jobs(of: asset)["t"]?.facts == ["made": true])
    #expect(try workshop.files("work").isEmpty)
  }

  @Test("A second run with nothing changed runs no job, a changed option those it affects")
  func again() throws {
    for number in 0..<5 { try workshop.add("content \(number)") }
    let (identify, thumb) = (FakeCarrier.identify(), thumb())
    let stages: [StageConfiguration] = [
      .stage("a", "thumb"), .stage("b", "thumb") { $0.options = ["size": 1] },
    ]
    #expect(try workshop.run(stages, [identify, thumb]).count == 15)
    #expect(try workshop.run(stages, [identify, thumb]).isEmpty)
    var changed = stages
    changed[1].options = ["size": 2]
    let events = try workshop.run(changed, [identify, thumb])
    #expect(events.count == 5 && events.allSatisfy { $0.stage == "b" })
  }

  @Test("Assets with the same bytes share a job and its renditions")
  func shared() throws {
    let assets = [try workshop.add("same"), try workshop.add("same")]
    let thumb = thumb(accepts: nil)
    #expect(try workshop.run([.stage("t", "thumb")], [thumb]).count == 1)
    for asset in assets { #expect(try workshop.renditions(of: asset).count == 1) }
  }

  @Test("A type that the plugin does not accept is skipped without the plugin being asked")
  func skipped() throws {
    let asset = try workshop.add("text")
    let thumb = thumb()
    let events = try workshop.run(
      [.stage("t", "thumb")], [.identify(["mediaType": "text/plain"]), thumb])
    #expect(events.last?.outcome == .skipped)
    #expect(events.last?.reason?.contains("text/plain") == true)
    #expect(thumb.jobs == 0)
    #expect(try workshop.jobs(of: asset)["t"]?.state == .skipped)
  }

  @Test(
    "What was skipped for its type is looked at again once the plugin accepts other types",
    arguments: ["1", "2"])
  func acceptedLater(version: String) throws {
    let asset = try workshop.add("text")
    let picture = try workshop.add("picture")
    let skipping = FakeCarrier(FakeCarrier.manifest("own")) { request, _ in
      request.asset.size == 4 ? .skipped(reason: "Nothing to see.") : .done()
    }
    let identify = FakeCarrier(FakeCarrier.manifest("identify")) { request, _ in
      .done(facts: ["mediaType": request.asset.size == 4 ? "text/plain" : "image/png"])
    }
    let stages: [StageConfiguration] = [
      .stage("t", "thumb"), .stage("after", "plain", needs: ["t"]), .stage("o", "own"),
    ]
    let plain = plain { _, _ in .done() }
    try workshop.run(stages, [identify, thumb(), plain, skipping])
    #expect(try workshop.jobs(of: asset)["after"]?.state == .skipped)
    var manifest = FakeCarrier.manifest("thumb", accepts: ["text/*"])
    manifest.version = version
    let later = FakeCarrier(manifest) { _, _ in .done() }
    let events = try workshop.run(stages, [identify, later, plain, skipping])
    // What is done, and what the other plugin itself skipped, is left as it is.
    #expect(events.map(\.stage) == ["t", "after"])
    #expect(events.allSatisfy { $0.asset == asset && $0.outcome == .done })
    #expect(try workshop.jobs(of: picture)["t"]?.state == .done)
    #expect(try workshop.run(stages, [identify, later, plain, skipping]).isEmpty)
  }

  @Test("A plugin may skip by itself, saying why")
  func skippedByPlugin() throws {
    try workshop.add("x")
    let events = try workshop.run(
      [.stage("s", "plain")], [plain { _, _ in .skipped(reason: "Nothing to see.") }])
    #expect(events.map(\.outcome) == [.skipped])
    #expect(events.first?.reason == "Nothing to see.")
  }

  // MARK: Failures

  @Test("A permanent failure is recorded, skips what needs it, and is not tried again")
  func permanent() throws {
    let asset = try workshop.add("broken")
    let whole = try workshop.add("whole")
    let carriers = [
      plain { request, _ in
        request.asset.size == 6 ? .failed(PluginFailure(.permanent, "Broken.")) : .done()
      }, thumb(accepts: nil),
    ]
    let stages: [StageConfiguration] = [
      .stage("p", "plain"), .stage("t", "thumb", needs: ["p"]),
    ]
    let events = try workshop.run(stages, carriers)
    #expect(events.filter { $0.outcome == .failed }.map(\.asset) == [asset])
    #expect(events.first { $0.outcome == .failed }?.failureClass == "permanent")
    #expect(try workshop.jobs(of: asset).mapValues(\.state) == ["p": .failed, "t": .skipped])
    #expect(try workshop.jobs(of: asset)["p"]?.reason == "Broken.")
    #expect(try workshop.jobs(of: whole).mapValues(\.state) == ["p": .done, "t": .done])
    #expect(try workshop.run(stages, carriers).isEmpty)
  }

  @Test("A transient failure is due again later, longer each time, and fails after the last try")
  func transient() throws {
    let asset = try workshop.add("x")
    let carrier = plain { _, _ in .failed(PluginFailure(.transient, "Full.")) }
    let stages: [StageConfiguration] = [.stage("p", "plain") { $0.attempts = 4 }]
    #expect(try workshop.run(stages, [carrier]).map(\.failureClass) == ["transient"])
    let first = try #require(try workshop.jobs(of: asset)["p"])
    #expect(first.state == .ready && first.attempts == 1)
    let due = try #require(first.notBefore)
    #expect(due > .now.adding(seconds: 20) && due < .now.adding(seconds: 31))
    // Before its time it is left alone.
    #expect(try workshop.run(stages, [carrier]).isEmpty && carrier.jobs == 1)

    // The same, with delays that are over at once.
    let workshop = try Workshop()
    let other = try workshop.add("y")
    let ledger = HastyLedger(workshop.catalog)
    let engine = try workshop.engine(try workshop.plan(stages, [carrier]), ledger: ledger)
    try engine.drain { false }
    #expect(carrier.jobs == 5)
    let delays = ledger.delays
    try #require(delays.count == 4)
    for (delay, expected) in zip(delays, [30.0, 120, 480]) {
      let delay = try #require(delay)
      #expect(delay > expected - 10 && delay < expected + 1, "\(delays)")
    }
    #expect(delays[3] == nil)
    let last = try #require(try workshop.jobs(of: other)["p"])
    #expect(last.state == .failed && last.attempts == 4 && last.failureClass == "transient")
    try engine.drain { false }
    #expect(carrier.jobs == 5)
  }

  @Test("A failure of the machine holds the stage, and its jobs count for nothing")
  func environment() throws {
    for number in 0..<20 { try workshop.add("content \(number)") }
    let carrier = plain { _, _ in .failed(PluginFailure(.environment, "No decoder.")) }
    let other = thumb(accepts: nil)
    let stages: [StageConfiguration] = [.stage("p", "plain", width: 1), .stage("t", "thumb")]
    let events = try workshop.run(stages, [carrier, other])
    #expect(workshop.report.held == ["p: No decoder."])
    #expect(carrier.jobs < 10)
    #expect(events.filter { $0.stage == "t" }.count == 20)
    #expect(try workshop.catalog.backlog()["p"] == [.ready: 20])
    for asset in try assets() { #expect(try workshop.jobs(of: asset)["p"]?.attempts == 0) }
    // Repaired, everything runs.
    let repaired = try workshop.run(stages, [plain { _, _ in .done() }, other])
    #expect(repaired.count == 20)
  }

  @Test("However often the machine lacked something, a job has all of its own tries left")
  func triesAfterEnvironment() throws {
    let asset = try workshop.add("x")
    let lacking = plain { _, _ in .failed(PluginFailure(.environment, "No decoder.")) }
    let failing = plain { _, _ in .failed(PluginFailure(.transient, "Full.")) }
    let engine = try workshop.engine(try workshop.plan([.stage("p", "plain")], [lacking]))
    for _ in 1...4 {
      try engine.drain { false }
      try engine.releaseHeldStages()
    }
    #expect(lacking.jobs == 4)
    let waiting = try #require(try workshop.jobs(of: asset)["p"])
    #expect(waiting.state == .ready && waiting.attempts == 0)
    #expect(waiting.failureClass == "environment" && waiting.reason == "No decoder.")
    try workshop.run([.stage("p", "plain")], [failing])
    let job = try #require(try workshop.jobs(of: asset)["p"])
    #expect(job.state == .ready && job.attempts == 1)
  }

  @Test("A plugin that can't be instantiated holds its stage, and no job is blamed")
  func noLane() throws {
    let asset = try workshop.add("x")
    let carrier = plain { _, _ in .done() }
    carrier.refusal.withLock { $0 = PluginFailure(.environment, "No room for it.") }
    #expect(try workshop.run([.stage("p", "plain")], [carrier]).isEmpty)
    #expect(workshop.report.held == ["p: No room for it."])
    #expect(try workshop.jobs(of: asset)["p"]?.attempts == 0)
    carrier.refusal.withLock { $0 = nil }
    #expect(try workshop.run([.stage("p", "plain")], [carrier]).count == 1)
  }

  @Test("A job over its time is asked to give up, and may be tried again")
  func timeout() throws {
    let asset = try workshop.add("x")
    let carrier = plain { _, job in
      for _ in 0..<1000 where !job.isCancelled { usleep(5000) }
      return .failed(PluginFailure(.permanent, "Interrupted."))
    }
    let events = try workshop.run(
      [.stage("p", "plain") { $0.limits.time = TimeSpan(milliseconds: 50) }], [carrier])
    #expect(events.first?.failureClass == "transient")
    #expect(events.first?.reason?.contains("50ms") == true)
    #expect(try workshop.jobs(of: asset)["p"]?.state == .ready)
    #expect(carrier.requests.first?.deadline == 0.05)
  }

  @Test("An original that is missing fails its job and no other")
  func missingOriginal() throws {
    let lost = try workshop.add("lost")
    try workshop.add("there")
    let record = try #require(try workshop.reader.asset(lost))
    try workshop.originals.remove(record.digest)
    let events = try workshop.run([.stage("p", "plain")], [plain { _, _ in .done() }])
    #expect(Set(events.map(\.outcome)) == [.done, .failed])
    #expect(try workshop.jobs(of: lost)["p"]?.failureClass == "permanent")
  }

  @Test("An original that has a link or a folder in its place fails its job and no other")
  func obstructedOriginal() throws {
    for make in [{ symlink("/etc/passwd", $0) }, { mkdir($0, 0o700) }] as [(String) -> Int32] {
      let workshop = try Workshop()
      let lost = try workshop.add("lost")
      try workshop.add("there")
      let record = try #require(try workshop.reader.asset(lost))
      let path = try workshop.originals.materialize(record.digest)
      try #require(unlink("\(path)") == 0 && make("\(path)") == 0)
      let events = try workshop.run([.stage("p", "plain")], [plain { _, _ in .done() }])
      #expect(Set(events.map(\.outcome)) == [.done, .failed])
      let job = try workshop.jobs(of: lost)["p"]
      #expect(job?.failureClass == "permanent")
      #expect(job?.reason?.contains("not a regular file") == true)
    }
  }

  // MARK: Limits

  @Test(
    "An estimate that no machine has can't be summed to nonsense",
    arguments: [1 << 62, Int.max, Int.min, -1, 0])
  func absurdEstimate(bytes: Int) throws {
    for name in ["a", "b", "c", "d"] { try workshop.add(name) }
    let carrier = FakeCarrier(
      FakeCarrier.manifest("plain", estimates: true), estimate: { _ in bytes }
    ) { _, _ in .done() }
    let events = try workshop.run([.stage("p", "plain") { $0.concurrency = 4 }], [carrier])
    #expect(events.map(\.outcome) == [.done, .done, .done, .done])
  }

  @Test("A job above its stage's cap fails with both figures and never begins")
  func memoryCap() throws {
    let asset = try workshop.add("x")
    let carrier = FakeCarrier(
      FakeCarrier.manifest("plain", estimates: true), estimate: { _ in 3 << 30 }
    ) { _, _ in .done() }
    try workshop.run(
      [.stage("p", "plain") { $0.limits.memory = ByteSize(bytes: 1 << 30) }], [carrier])
    let job = try #require(try workshop.jobs(of: asset)["p"])
    #expect(job.state == .failed && job.failureClass == "permanent" && carrier.jobs == 0)
    #expect(job.reason?.contains("3 GiB") == true && job.reason?.contains("1 GiB") == true)
    // A wider cap makes it ready again.
    try workshop.run(
      [.stage("p", "plain") { $0.limits.memory = ByteSize(bytes: 4 << 30) }], [carrier])
    #expect(try workshop.jobs(of: asset)["p"]?.state == .done)
  }

  @Test("A job that failed where its stage has no limit is tried again with more memory for all")
  func largerBudget() throws {
    let asset = try workshop.add("x")
    let stages: [StageConfiguration] = [.stage("p", "plain")]
    let failing = plain { _, _ in .failed(PluginFailure(.permanent, "It needed more memory.")) }
    try workshop.run(stages, [failing], budget: 1 << 30)
    try workshop.run(stages, [failing], budget: 1 << 30)
    #expect(failing.jobs == 1)
    try workshop.run(stages, [plain { _, _ in .done() }], budget: 2 << 30)
    #expect(try workshop.jobs(of: asset)["p"]?.state == .done)
    // A stage that has its own limit has nothing from it.
    let own: [StageConfiguration] = [
      .stage("q", "plain") {
        $0.options = ["size": 9]
        $0.limits.memory = ByteSize(bytes: 64 << 20)
      }
    ]
    try workshop.run(own, [failing], budget: 1 << 30)
    try workshop.run(own, [failing], budget: 2 << 30)
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
      let workshop = try Workshop()
      let asset = try workshop.add("hello")
      let thumb = thumb()
      try workshop.run(
        [.stage("t", "thumb") { $0.limits = limit($0.limits) }], [.identify(facts), thumb])
      let job = try #require(try workshop.jobs(of: asset)["t"])
      #expect(job.state == .failed && job.failureClass == "permanent" && thumb.jobs == 0)
    }
    let asset = try workshop.add("hello")
    try workshop.run(
      [
        .stage("t", "thumb") {
          $0.limits.inputBytes = ByteSize(bytes: 5)
          $0.limits.frames = 10
          $0.limits.pixels = 50_000
        }
      ], [.identify(facts), thumb()])
    #expect(try workshop.jobs(of: asset)["t"]?.state == .done)
  }

  @Test("Too much output fails, and nothing of it is kept")
  func outputLimits() throws {
    for change: (inout StageLimits) -> Void in [
      { $0.outputBytes = ByteSize(bytes: 2) }, { $0.files = 0 },
    ] {
      let workshop = try Workshop()
      let asset = try workshop.add("x")
      try workshop.run(
        [.stage("t", "thumb") { change(&$0.limits) }], [thumb(accepts: nil)])
      #expect(try workshop.jobs(of: asset)["t"]?.state == .failed)
      #expect(try workshop.renditions(of: asset).isEmpty)
      #expect(try workshop.files("work").isEmpty)
    }
  }

  // MARK: Order and width

  @Test("Never more jobs than the width, an instance for one job at a time", arguments: [1, 3])
  func width(width: Int) throws {
    for number in 0..<40 { try workshop.add("content \(number)") }
    let begun = Mutex(0)
    let carrier = plain { _, _ in
      begun.withLock { $0 += 1 }
      // The first waits for a second one beside it, however busy the machine is.
      for _ in 0..<10_000 where width > 1 && begun.withLock({ $0 }) < 2 { usleep(1000) }
      usleep(2000)
      return .done()
    }
    let events = try workshop.run([.stage("p", "plain", width: width)], [carrier])
    #expect(events.count == 40 && events.allSatisfy { $0.outcome == .done })
    #expect(carrier.mostAtOnce <= width && carrier.lanes <= width)
    #expect(width == 1 || carrier.mostAtOnce > 1)
  }

  @Test("The memory budget keeps jobs apart that do not fit together")
  func budget() throws {
    for number in 0..<12 { try workshop.add("content \(number)") }
    let carrier = FakeCarrier(
      FakeCarrier.manifest("plain", estimates: true), estimate: { _ in 600 }
    ) { _, _ in
      usleep(3000)
      return .done()
    }
    // Two would need 1200.
    let events = try workshop.run([.stage("p", "plain", width: 4)], [carrier], budget: 1000)
    #expect(events.count == 12 && carrier.mostAtOnce == 1)
    // Above the whole budget they run, too, one by one.
    let other = try Workshop()
    for number in 0..<4 { try other.add("content \(number)") }
    #expect(try other.run([.stage("p", "plain", width: 4)], [carrier], budget: 100).count == 4)
    #expect(carrier.mostAtOnce == 1)
  }

  @Test("Assets that come while stages run are worked on as well")
  func wake() throws {
    let carrier = plain { _, _ in .done() }
    let engine = try workshop.engine(try workshop.plan([.stage("p", "plain")], [carrier]))
    engine.wake()
    for number in 0..<10 {
      try workshop.add("content \(number)")
      engine.wake()
    }
    try engine.drain { false }
    #expect(workshop.report.events.count == 10)
  }

  // MARK: Stopping

  @Test("A stop lets running jobs end, gives the others back, and blames none")
  func stop() throws {
    for number in 0..<30 { try workshop.add("content \(number)") }
    let started = DispatchSemaphore(value: 0)
    let carrier = plain { _, job in
      started.signal()
      for _ in 0..<2000 where !job.isCancelled { usleep(2000) }
      return .done()
    }
    let engine = try workshop.engine(
      try workshop.plan([.stage("p", "plain", width: 2)], [carrier]))
    engine.wake()
    started.wait()
    engine.stop(deadline: ContinuousClock().now + .seconds(20))
    let backlog = try #require(try workshop.catalog.backlog()["p"])
    #expect(backlog[.running] == nil)
    #expect(backlog[.done, default: 0] + backlog[.ready, default: 0] == 30)
    #expect(backlog[.done, default: 0] == carrier.jobs && carrier.jobs <= 2)
    // Nothing was interrupted: the next engine finds every row as new.
    #expect(
      try workshop.run([.stage("p", "plain")], [plain { _, _ in .done() }]).count == 30
        - carrier.jobs)
    for asset in try assets() { #expect(try workshop.jobs(of: asset)["p"]?.attempts == 1) }
  }

  @Test("Jobs that are being claimed while a stop comes are given back as well")
  func stopWhileClaiming() throws {
    for number in 0..<5 { try workshop.add("content \(number)") }
    let ledger = SlowLedger(workshop.catalog)
    let engine = try workshop.engine(
      try workshop.plan([.stage("p", "plain")], [plain { _, _ in .done() }]), ledger: ledger)
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
    #expect(try workshop.catalog.backlog()["p"] == [.ready: 5])
  }

  @Test("A wake-up that comes while jobs are claimed is not lost")
  func wakeWhileClaiming() throws {
    try workshop.add("first")
    let ledger = SlowLedger(workshop.catalog)
    let second = DispatchSemaphore(value: 0)
    let haveMet = Atomic(false)
    let carrier = plain { request, _ in
      if request.asset.name == "1.jpg" {
        haveMet.store(second.wait(timeout: .now() + 10) == .success, ordering: .relaxed)
      } else {
        second.signal()
      }
      return .done()
    }
    let engine = try workshop.engine(
      try workshop.plan([.stage("p", "plain")], [carrier]), ledger: ledger)
    engine.wake()
    ledger.isClaiming.wait()
    // Too late for the claim that is under way.
    try workshop.add("second")
    engine.wake()
    ledger.mayGoOn.signal()
    for _ in 0..<1500 where try workshop.catalog.backlog()["p"] != [.done: 2] { usleep(10_000) }
    // The second job did not have to wait for the end of the first.
    let met = haveMet.load(ordering: .relaxed)
    #expect(met)
    #expect(try workshop.catalog.backlog()["p"] == [.done: 2])
    engine.stop(deadline: ContinuousClock().now + .seconds(20))
  }

  private func assets() throws -> [AssetID] {
    var assets: [AssetID] = []
    try workshop.reader.assets { assets.append($0.id) }
    return assets
  }
}
