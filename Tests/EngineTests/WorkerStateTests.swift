import Configuration
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Testing

@testable import PluginHost

/// Whom a worker's deeds are held against, decided without any process.
@Suite("What a worker is doing", .timeLimit(.minutes(1)))
struct WorkerStateTests {
  private let state = Machine()
  private let excess = PluginFailure(.permanent, "It made too many files.")

  private func job(_ name: String = "1") throws -> WorkerState.Job {
    let asset = PluginRequest.Subject(
      id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a",
      digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 9)
    return WorkerState.Job(
      request: PluginRequest(
        job: name, asset: asset, input: "/in", output: "/out", options: [:], facts: [:]),
      control: JobControl(), completion: { _ in })
  }

  private func question() -> WorkerState.Question {
    WorkerState.Question(facts: [[:], [:]], completion: { _ in })
  }

  private func manifest() -> PluginMessage {
    .manifest(protocol: HostMessage.currentProtocol, state.manifest)
  }

  private func result(_ name: String = "1") -> PluginMessage {
    .result(job: name, .done(facts: [:], renditions: []))
  }

  /// Starts a worker whose plugin is set up.
  private func setUp(_ other: Machine? = nil) {
    let state = other ?? state
    state.starting()
    _ = state.receive(manifest())
    _ = state.receive(.created)
  }

  /// Gives a worker that is set up a job.
  private func work(_ other: Machine? = nil) throws {
    let state = other ?? state
    setUp(state)
    state.add(try job())
    #expect(state.begin())
  }

  private func usage(megabytes: Int = 1, seconds: Double = 0) -> ProcessUsage {
    var usage = ProcessUsage()
    usage.processes = 1
    usage.threads = 1
    usage.memoryBytes = megabytes << 20
    usage.processorSeconds = seconds
    return usage
  }

  /// The step that comes next, in a word.
  private var next: String {
    switch state.next() {
    case .start: "start"
    case .ask: "ask"
    case .begin(let job): "begin \(job.request.job)"
    case nil: "wait"
    }
  }

  // MARK: One request at a time

  @Test("A worker gets a request once the answer to the previous one was handled")
  func oneAtATime() throws {
    #expect(next == "wait")
    state.add(try job("1"))
    #expect(next == "start")
    state.starting()
    #expect(next == "wait")
    #expect(state.receive(manifest()) == nil && next == "wait")
    #expect(state.receive(.created) == nil && next == "begin 1")
    #expect(state.begin() && next == "wait")
    #expect(state.add(question()))
    state.add(try job("2"))
    #expect(next == "wait")
    guard case .finish(let job, _)? = state.receive(result("1")) else {
      Issue.record("the job is not finished")
      return
    }
    #expect(job.request.job == "1" && state.jobsDone == 1 && next == "ask")
    #expect(state.begin() && next == "wait")
    guard case .complete(_, [1, nil]?)? = state.receive(.estimates([1, nil])) else {
      Issue.record("the question is not answered")
      return
    }
    #expect(next == "begin 2")
  }

  @Test("A request does not reach a worker that is leaving, and waits for the next one")
  func late() throws {
    setUp()
    state.add(try job())
    #expect(state.leave() == SIGKILL)
    #expect(!state.begin() && next == "wait")
    #expect(!state.add(question()))
    #expect(state.ended().jobs.isEmpty)
    #expect(next == "start")
  }

  // MARK: Who is to blame

  @Test("A job that waits for set-up fails with it, as the machine's fault")
  func setUpFails() throws {
    state.add(try job())
    state.starting()
    #expect(state.check(.success(excess), in: state.turn) == SIGKILL)
    let remains = state.ended()
    #expect(remains.jobs.count == 1 && !remains.isSetUp)
    #expect(remains.failure?.class == .environment)
    #expect(remains.failure?.reason.contains("during setup. It made too many files") == true)
    #expect(next == "wait")
  }

  @Test(
    "A worker that says the wrong thing while it is set up is the machine's fault",
    arguments: [
      .created, .unsupported, .estimates([]), .failed(PluginFailure(.permanent, "no")),
      .manifest(protocol: 1, FakeBackend.manifest("other")),
    ] as [PluginMessage])
  func wrongSetUp(message: PluginMessage) throws {
    state.add(try job())
    state.starting()
    guard case .signal(SIGKILL)? = state.receive(message) else {
      Issue.record("the worker is not ended")
      return
    }
    #expect(state.ended().failure?.class == .environment)
  }

  @Test("A job that waits behind a question is not blamed for it, whatever ends the worker")
  func behindQuestion() throws {
    for deed in 0..<5 {
      setUp()
      #expect(state.add(question()) && state.begin())
      state.add(try job())
      switch deed {
      case 0: break
      case 1: _ = state.receive(.estimates([1]))
      case 2: _ = state.check(.success(excess), in: state.turn)
      case 3: _ = state.check(nil, in: state.turn, at: state.since + .seconds(31))
      default: _ = state.check(usage(megabytes: 2048), in: state.turn)
      }
      #expect(state.isLeaving == (deed != 0))
      let remains = state.ended()
      #expect(remains.questions.count == 1 && remains.jobs.isEmpty, "\(deed)")
      #expect(next == "start")
      state.drop()
    }
  }

  @Test("What was measured before an answer is not held against what follows it")
  func stale() throws {
    setUp()
    let turn = state.turn
    state.add(try job("1"))
    #expect(state.begin())
    #expect(state.check(.success(excess), in: turn) == nil)
    #expect(state.check(usage(megabytes: 2048), in: turn) == nil)
    let working = state.turn
    _ = state.receive(result("1"))
    state.add(try job("2"))
    #expect(state.begin())
    #expect(state.check(.success(excess), in: working) == nil && !state.isLeaving)
  }

  @Test("An answer that arrives after the verdict no longer counts")
  func verdict() throws {
    try work()
    #expect(state.check(.success(excess), in: state.turn) == SIGTERM)
    #expect(state.receive(result()) == nil)
    let remains = state.ended()
    #expect(remains.jobs.count == 1 && remains.failure == excess && remains.isSetUp)
  }

  @Test("A worker that does not end when asked to is killed, at once if it takes too much memory")
  func killed() throws {
    try work()
    let start = state.since
    #expect(state.check(nil, in: state.turn, at: start + .seconds(11)) == SIGTERM)
    #expect(state.check(usage(), in: state.turn, at: start + .seconds(12)) == nil)
    #expect(
      state.check(usage(megabytes: 2048), in: state.turn, at: start + .seconds(12)) == SIGKILL)
    #expect(state.check(usage(), in: state.turn, at: start + .seconds(14)) == SIGKILL)
    #expect(state.ended().failure?.class == .transient)
  }

  @Test("A worker that was to be killed before it had a process is killed once it has one")
  func killedBeforeStart() {
    state.starting()
    #expect(state.leave(because: excess) == SIGKILL)
    #expect(state.check(usage(), in: state.turn) == SIGKILL)
    #expect(state.ended().failure == excess)
  }

  @Test("Only the processor time since a job began counts as its own")
  func processorTime() throws {
    try work()
    #expect(state.check(usage(seconds: 100), in: state.turn) == nil)
    #expect(state.check(nil, in: state.turn) == nil)
    #expect(state.check(usage(seconds: 104), in: state.turn) == nil)
    #expect(state.check(usage(seconds: 106), in: state.turn) == SIGTERM)
    #expect(state.ended().failure?.class == .permanent)
  }

  @Test("The least processor time that a plugin wants is the limit of that job alone")
  func wantedProcessorTime() throws {
    let state = Machine(cpu: nil)
    try work(state)
    #expect(state.check(usage(seconds: 100), in: state.turn) == nil)
    for seconds in [3, 2, 5, 0, -1, .infinity, .nan, 1e300] { state.limit(cpu: seconds) }
    #expect(state.check(usage(seconds: 101.5), in: state.turn) == nil)
    #expect(state.check(usage(seconds: 102.5), in: state.turn) == SIGTERM)
    let failure = state.ended().failure
    #expect(failure?.reason.contains("2s") == true && failure?.class == .permanent)
    // Nobody's, so it is not the next job's either.
    state.limit(cpu: 1)
    try work(state)
    #expect(state.check(usage(seconds: 100), in: state.turn) == nil)
    #expect(state.check(usage(seconds: 900), in: state.turn) == nil)
  }

  @Test("A limit that the stage sets counts instead of what the plugin wants")
  func wantedBesideLimit() throws {
    try work()
    #expect(state.check(usage(seconds: 100), in: state.turn) == nil)
    state.limit(cpu: 1)
    #expect(state.check(usage(seconds: 104), in: state.turn) == nil)
    #expect(state.check(usage(seconds: 106), in: state.turn) == SIGTERM)
  }

  @Test("A job fails if its worker closes its output or ends, and the next one does not")
  func closedOutput() throws {
    try work()
    state.outputClosed()
    #expect(state.check(usage(), in: state.turn) == nil)
    #expect(state.check(usage(), in: state.turn, at: state.since + .seconds(2)) == SIGKILL)
    #expect(state.ended().failure?.class == .transient)
    try work()
    #expect(state.check(usage(), in: state.turn, at: state.since + .seconds(1)) == nil)
    state.add(try job("2"))
    let remains = state.ended()
    #expect(remains.jobs.map(\.request.job) == ["1"] && remains.failure == nil)
    #expect(next == "start")
  }

  // MARK: Idle

  @Test("An idle worker is checked less and less often, and ended in the end")
  func idle() {
    setUp()
    let start = state.since
    #expect(state.interval(busy: 0.02, at: start) == 2)
    #expect(state.interval(busy: 0.02, at: start + .seconds(9)) == 9)
    #expect(state.interval(busy: 0.02, at: start + .seconds(99)) == 30)
    #expect(state.check(usage(), in: state.turn, at: start + .seconds(299)) == nil)
    #expect(state.check(usage(), in: state.turn, at: start + .seconds(301)) == SIGKILL)
    #expect(state.interval(busy: 0.02) == 0.02)
    #expect(state.ended().jobs.isEmpty)
  }

  @Test("An idle worker that goes on working is ended, and one that can't be measured is not")
  func idleWork() {
    setUp()
    for seconds in [7, nil, 7.1, 7.3] {
      let seen = seconds.map { usage(seconds: $0) }
      #expect(state.check(seen, in: state.turn) == nil)
    }
    #expect(state.check(usage(seconds: 7.9), in: state.turn) == SIGKILL)
  }

  // MARK: The program's end

  @Test("At the end an idle worker may end by itself, and a busy one may not")
  func close() throws {
    setUp()
    #expect(state.close() == nil)
    #expect(state.close() == nil)
    #expect(state.check(usage(), in: state.turn, at: state.since + .seconds(1)) == nil)
    #expect(state.check(usage(), in: state.turn, at: state.since + .seconds(3)) == SIGKILL)
    #expect(state.ended().onEnd.count == 2)
    #expect(state.isClosed && !state.add(question()))
  }

  @Test("At the end a busy worker is killed")
  func closeBusy() throws {
    try work()
    #expect(state.close() == SIGKILL)
    let remains = state.ended()
    #expect(remains.onEnd.count == 1 && remains.jobs.count == 1 && remains.failure == nil)
  }
}

/// A state in a class, because `#expect` calls nothing that changes a value.
@dynamicMemberLookup
private final class Machine {
  typealias Instant = WorkerState.Instant

  private var state: WorkerState

  init(cpu: TimeSpan? = TimeSpan(milliseconds: 5_000)) {
    var limits = StageLimits()
    limits.time = TimeSpan(milliseconds: 10_000)
    limits.cpu = cpu
    state = WorkerState(
      FakeBackend.manifest("fake", estimates: true),
      limits: WorkerLimits(
        limits, allowance: StageAllowance(), memoryShare: ByteSize(bytes: 1 << 30)),
      policy: WorkerPolicy())
  }

  subscript<Value>(dynamicMember path: KeyPath<WorkerState, Value>) -> Value {
    state[keyPath: path]
  }

  func limit(cpu seconds: Double) { state.limit(cpu: seconds) }
  func add(_ job: WorkerState.Job) { state.add(job) }
  func add(_ question: WorkerState.Question) -> Bool { state.add(question) }
  func next() -> WorkerState.Step? { state.next() }
  func starting() { state.starting() }
  func begin() -> Bool { state.begin() }
  func drop() { state.drop() }
  func receive(_ message: PluginMessage) -> WorkerState.Reaction? { state.receive(message) }
  func outputClosed() { state.outputClosed() }
  func leave(because failure: PluginFailure? = nil) -> Int32? { state.leave(because: failure) }
  func exceed(_ failure: PluginFailure) -> Int32? { state.exceed(failure) }
  func close() -> Int32? { state.close {} }
  func ended() -> WorkerState.Remains { state.ended() }

  func check(_ usage: ProcessUsage?, in turn: Int, at now: Instant = .now) -> Int32? {
    state.check(usage, in: turn, at: now)
  }

  func check(_ files: Result<PluginFailure?, FileError>, in turn: Int) -> Int32? {
    state.check(files, in: turn)
  }

  func interval(busy: Double, at now: Instant = .now) -> Double {
    state.interval(busy: busy, at: now)
  }
}
