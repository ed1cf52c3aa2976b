import Catalog
import Configuration
import Dispatch
import Engine
import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import PipelinePlugin
import Records
import Synchronization
import Testing

@testable import PluginHost

/// Instances whose workers are processes, started by the program as built.
@Suite("Workers", .timeLimit(.minutes(2)))
final class WorkerTests {
  private let folder: TemporaryFolder
  private let queue = DispatchQueue(label: "test", attributes: .concurrent)
  private var instances: [WorkerInstance] = []
  private var requests = 0

  init() throws {
    // As the program does: a worker that is gone while it is written to is an error of `write`.
    signal(SIGPIPE, SIG_IGN)
    folder = try TemporaryFolder()
    let root = try Descriptor.openFolder(folder.path)
    for name: BytePath in ["work", "results"] { try root.makeFolder(name) }
    try root.writeDurably(Array("original\n".utf8), as: "original")
  }

  deinit {
    for instance in instances {
      let isOver = DispatchSemaphore(value: 0)
      instance.end { isOver.signal() }
      isOver.wait()
    }
  }

  private func instance(
    _ plugin: ShellPlugin, policy: WorkerPolicy = WorkerPolicy(), budget: WorkerMemoryBudget? = nil,
    limits change: (inout StageLimits) -> Void = { _ in }
  ) -> WorkerInstance {
    instance(plugin.backend, plugin.program, policy: policy, budget: budget, limits: change)
  }

  private func instance(
    _ backend: WorkerBackend, _ program: WorkerProgram, policy: WorkerPolicy = WorkerPolicy(),
    budget: WorkerMemoryBudget? = nil, limits change: (inout StageLimits) -> Void
  ) -> WorkerInstance {
    var limits = StageLimits()
    change(&limits)
    let context = InstanceContext(
      queue: queue, limits: limits, allowance: program.allowance,
      memoryShare: ByteSize(bytes: 1 << 30), budget: budget,
      work: folder.appending("work"))
    let instance = WorkerInstance(
      backend, program: program, options: [:], context: context, policy: policy)
    instances.append(instance)
    return instance
  }

  /// A job on its way.
  private final class Answer: Sendable {
    private let result = Mutex<PluginResult?>(nil)
    private let arrived = DispatchSemaphore(value: 0)

    var isThere: Bool { result.withLock { $0 != nil } }

    func receive(_ result: PluginResult) {
      self.result.withLock { $0 = result }
      arrived.signal()
    }

    /// Waits for it.
    func get() throws -> PluginResult {
      #expect(arrived.wait(timeout: .now() + 60) == .success)
      return try #require(result.withLock { $0 })
    }

    /// Waits for the facts of a job that must be done.
    func facts() throws -> JSONValue {
      let result = try get()
      guard case .done(let facts, _) = result else {
        Issue.record("\(result)")
        return [:]
      }
      return facts
    }

    /// Waits for the failure of a job that must fail.
    func failure() throws -> PluginFailure {
      guard case .failed(let failure) = try get() else { return PluginFailure(.transient, "none") }
      return failure
    }
  }

  private func begin(_ instance: WorkerInstance, facts: [String: JSONValue] = [:]) throws -> Answer
  {
    requests += 1
    let output = BytePath("\(requests)")
    try Descriptor.openFolder(folder.appending("results")).makeFolder(output)
    let request = PluginRequest(
      job: "\(requests)",
      asset: .init(
        id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a",
        digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 9),
      input: folder.appending("original").description,
      output: folder.appending("results").appending(output).description, options: [:],
      facts: facts)
    let answer = Answer()
    instance.process(request, job: JobControl()) { answer.receive($0) }
    return answer
  }

  // MARK: Limits

  @Test(
    "A job that is over before anybody looked is held to its limits all the same",
    arguments: [
      ("for i in 1 2 3 4 5; do : > $i; done", "4 files"),
      ("for i in 1 2 3; do printf %05000d 0 > $i; done", "10 KiB"),
    ])
  func quickJob(deed: String, limit: String) throws {
    let result = #"{"name":"a","path":"a","mediaType":"image/png","width":1,"height":1}"#
    let plugin = try ShellPlugin(
      process: #": > a; \#(deed); members=',"renditions":[\#(result)]'"#, in: folder.path)
    let instance = instance(plugin) {
      $0.files = 4
      $0.outputBytes = ByteSize(bytes: 10 << 10)
    }
    let failure = try begin(instance).failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains(limit), "\(failure.reason)")
    #expect(try Descriptor.openFolder(folder.appending("results/1")).entries().isEmpty)
  }

  @Test("A job is blamed for its own files, even if nobody has noticed yet that set-up is over")
  func filesBeforeSetUpIsNoticed() throws {
    let go = folder.appending("go")
    let plugin = try ShellPlugin(
      process: "for i in 1 2 3 4 5; do : > $i; done; sleep 600",
      create: #"until [ -e \#(go) ]; do sleep 0.01; done; echo '{"type":"created"}'"#,
      mayExecute: true, reading: [folder.path], in: folder.path)
    let instance = instance(plugin) {
      $0.files = 4
      $0.processes = 8
    }
    let answer = try begin(instance)
    // By then the worker is started.
    instance.queue.sync {}
    // Now the answer that it is set up arrives, and is not handled.
    queue.suspend()
    try Descriptor.openFolder(folder.path).writeDurably([], as: "go")
    // Enough for a job to make its files, and for a look at them.
    usleep(3 * UInt32(Watchdog.filesInterval * 1_000_000))
    queue.resume()
    let failure = try answer.failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("4 files"), "\(failure.reason)")
  }

  @Test("A job that takes more memory than it may, and less than the kernel would refuse, is ended")
  func memoryBetweenLooks() throws {
    let plugin = try ShellPlugin(
      // 128 MiB, which it keeps; it waits for a line that does not come.
      process: "x=a; while [ ${#x} -lt 134217728 ]; do x=$x$x; done; read -r line",
      in: folder.path)
    let instance = instance(plugin) {
      $0.memory = ByteSize(bytes: 96 << 20)
      $0.time = TimeSpan(milliseconds: 50_000)
    }
    let failure = try begin(instance).failure()
    #expect(failure.class == .permanent)
    #expect(
      failure.reason.contains("of memory, and may use 96 MiB at most. For more, set limits.memory"),
      "\(failure.reason)")
  }

  @Test("What the processes used that a job has ended already counts as its time on processors")
  func processorOfChildren() throws {
    let plugin = try ShellPlugin(
      // Each of them is short, and the one that starts them does nothing itself.
      process: "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done); done",
      mayExecute: true, in: folder.path)
    let instance = instance(plugin) {
      $0.processes = 8
      $0.cpu = TimeSpan(milliseconds: 250)
      $0.time = TimeSpan(milliseconds: 10_000)
    }
    let failure = try begin(instance).failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("processor"), "\(failure.reason)")
  }

  @Test("A plugin that closed its output can't answer, and is ended at once")
  func closedOutput() throws {
    let plugin = try ShellPlugin(process: "exec >&-; read -r line", in: folder.path)
    let failure = try begin(instance(plugin)).failure()
    #expect(failure.class == .transient)
    #expect(failure.reason.contains("closed its output"), "\(failure.reason)")
  }

  @Test("Files that are open and have no name any more count as made")
  func namelessFiles() throws {
    let plugin = try ShellPlugin(
      process: """
        exec 3> a 4> b; rm a b
        printf %0600000d 0 >&3; printf %0600000d 0 >&4
        read -r line
        """, mayExecute: true, in: folder.path)
    let instance = instance(plugin) {
      $0.outputBytes = ByteSize(bytes: 1 << 20)
      $0.time = TimeSpan(milliseconds: 20_000)
    }
    let failure = try begin(instance).failure()
    #expect(failure.reason.contains("more than 1 MiB"), "\(failure.reason)")
  }

  @Test("Files in a folder that can't be listed count as made")
  func hiddenFiles() throws {
    let plugin = try ShellPlugin(
      process: "mkdir -m 0300 h; for i in 1 2 3 4 5; do : > h/$i; done; read -r line",
      mayExecute: true, in: folder.path)
    let instance = instance(plugin) {
      $0.files = 4
      $0.time = TimeSpan(milliseconds: 20_000)
    }
    let failure = try begin(instance).failure()
    #expect(failure.reason.contains("4 files"), "\(failure.reason)")
  }

  @Test("Workers that use too much together are ended until they don't")
  func sharedMemory() throws {
    let budget = WorkerMemoryBudget(most: ByteSize(bytes: 96 << 20))
    let plugin = try ShellPlugin(
      process: "x=a; while [ ${#x} -lt 67108864 ]; do x=$x$x; done; read -r line",
      in: folder.path)
    let instances = [instance(plugin, budget: budget), instance(plugin, budget: budget)]
    let answers = try instances.map { try begin($0) }
    let end = ContinuousClock.now + .seconds(40)
    while answers.allSatisfy({ !$0.isThere }), ContinuousClock.now < end { usleep(10_000) }
    let ended = try #require(answers.first { $0.isThere })
    let failure = try ended.failure()
    #expect(failure.class == .transient)
    #expect(failure.reason.contains("all workers together"), "\(failure.reason)")
  }

  /// Writes a plugin that is given its manifest as an argument.
  private func python(
    _ script: String, as id: String, _ change: (inout StageAllowance, inout StageLimits) -> Void
  ) throws -> WorkerProgram {
    let name = BytePath("\(id).py")
    try Descriptor.openFolder(folder.path).writeDurably(Array(script.utf8), as: name)
    var allowance = StageAllowance()
    allowance.read = [folder.appending(name)]
    var limits = StageLimits()
    change(&allowance, &limits)
    let manifest = BytePath(try JSONText.encode(FakeBackend.manifest(id)))
    return WorkerProgram(
      .executable(["/usr/bin/python3", folder.appending(name), manifest]), host: BuiltProgram.path,
      allowance: allowance, limits: limits)
  }

  @Test("Processes are refused that would be more than there may be, also before any job")
  func forksInHandshake() throws {
    let script = """
      import os, sys, time
      sys.stdin.readline()
      made = refused = 0
      for _ in range(40):
        try:
          if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
          made += 1
        except OSError: refused += 1
      manifest = sys.argv[1].replace('"version":"1', f'"version":"made {made}, refused {refused}')
      print('{"type":"manifest","protocol":1,"manifest":' + manifest + "}", flush=True)
      sys.stdin.read()
      """
    let program = try python(script, as: "forks") { allowance, limits in
      allowance.exec = true
      limits.processes = 8
    }
    let version = try ManifestQuery(program).manifest().version
    #expect(version.hasPrefix("made 7, refused 33"), "\(version)")
  }

  @Test("Memory is refused beyond what a plugin may have to say what it is")
  func memoryInHandshake() throws {
    // Asked for and not used, so that it costs nothing; more than is allowed on any machine.
    let most = 512 + 128 * Machine.processors
    let script = """
      import mmap, sys
      sys.stdin.readline()
      made = refused = 0
      blocks = []
      for _ in range(\(most / 64 + 8)):
        try:
          blocks.append(mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
          made += 1
        except OSError: refused += 1
      manifest = sys.argv[1].replace('"version":"1', f'"version":"made {made}, refused {refused}')
      print('{"type":"manifest","protocol":1,"manifest":' + manifest + "}", flush=True)
      sys.stdin.read()
      """
    let program = try python(script, as: "memory") { _, _ in }
    let version = try ManifestQuery(program).manifest().version
    let refused = try #require(version.split(separator: " ").dropFirst(3).first)
    // Its interpreter has some, too.
    #expect((8...10).contains(try #require(Int(refused.prefix { $0.isNumber }))), "\(version)")
  }

  @Test("A plugin that is tested is held to its limit of memory, and it is said why it ended")
  func memoryInSession() throws {
    let plugin = try ShellPlugin(
      process: "x=a; while [ ${#x} -lt 134217728 ]; do x=$x$x; done; read -r line",
      in: folder.path)
    var limits = StageLimits()
    limits.memory = ByteSize(bytes: 64 << 20)
    let program = WorkerProgram(
      .executable(["/bin/sh", folder.appending("plugin.sh")]), host: BuiltProgram.path,
      allowance: plugin.program.allowance, limits: limits)
    let session = try WorkerSession(program, named: "tested", in: folder.appending("work"))
    session.send(.hello(protocol: HostMessage.currentProtocol, program: "test"))
    session.send(.create(options: [:]))
    session.send(.process(try request(in: session)))
    var said: [WorkerSession.Event] = []
    while let event = session.next(within: TimeSpan(milliseconds: 30_000)) { said.append(event) }
    try session.end()
    #expect(
      said.contains {
        if case .log(let line) = $0 { line.contains("and may use 64 MiB at most") } else { false }
      }, "\(said)")
    guard case .ended? = said.last else {
      Issue.record("It did not end: \(said)")
      return
    }
  }

  private func request(in session: WorkerSession) throws -> PluginRequest {
    PluginRequest(
      job: "1",
      asset: .init(
        id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a",
        digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 9),
      input: session.input.description, output: session.output.description, options: [:],
      facts: [:])
  }

  // MARK: Between jobs

  @Test("Processes that a job left behind are gone before the next job begins")
  func company() throws {
    let plugin = try ShellPlugin(
      process: "sleep 600 > /dev/null 2>&1 & more=',\"left\":'$!", mayExecute: true,
      in: folder.path)
    let instance = instance(plugin) { $0.processes = 8 }
    let left = try #require(try begin(instance).facts()["left"]?.integer)
    #expect(try begin(instance).facts()["count"] == 1)
    // A process that nobody has reaped yet has no words any more.
    let words = URL(filePath: "/proc/\(left)/cmdline")
    #expect((try? Data(contentsOf: words))?.isEmpty ?? true)
  }

  @Test("A worker is replaced after a number of jobs")
  func replacedAfterJobs() throws {
    let instance = instance(try ShellPlugin(in: folder.path), policy: WorkerPolicy(mostJobs: 2))
    let counts = try (1...5).map { _ in try begin(instance).facts()["count"] }
    #expect(counts == [1, 2, 1, 2, 1])
  }

  @Test("A worker that keeps too much memory between two jobs is replaced")
  func replacedForMemory() throws {
    // A megabyte of text more with each job.
    let grow = "text=$text$(printf %01000000d 0)"
    let instance = instance(
      try ShellPlugin(process: grow, mayExecute: true, in: folder.path),
      policy: WorkerPolicy(mostIdleMemory: 8 << 20))
    let counts = try (1...12).map { _ in try #require(try begin(instance).facts()["count"]?.integer)
    }
    let restart = try #require(counts.dropFirst().firstIndex(of: 1))
    #expect(restart > 2 && counts[..<restart] == Array(1...restart)[...])
  }

  @Test("A worker that has had nothing to do for long is ended, and the next job starts another")
  func idle() throws {
    let instance = instance(
      try ShellPlugin(in: folder.path), policy: WorkerPolicy(idleInterval: 0.05, mostIdleTime: 0.2))
    #expect(try begin(instance).facts()["count"] == 1)
    let deadline = ContinuousClock.now + .seconds(20)
    while instance.shared.withLock({ $0.worker != nil }), ContinuousClock.now < deadline {
      usleep(10_000)
    }
    #expect(instance.shared.withLock { $0.worker == nil })
    #expect(try begin(instance).facts()["count"] == 1)
  }

  @Test("One that may fork and does so without end is stopped at its number of processes")
  func forks() throws {
    let plugin = try ShellPlugin(
      process: "while :; do sleep 600 > /dev/null 2>&1 & done", mayExecute: true, in: folder.path)
    let instance = instance(plugin) {
      $0.processes = 8
      $0.time = TimeSpan(milliseconds: 20_000)
    }
    let failure = try begin(instance).failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("may run 8"), "\(failure.reason)")
  }

  @Test("A job that was refused a process fails, even if it is over before anybody looks")
  func quickFork() throws {
    let script = """
      import json, os, sys, time
      for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
          print('{"type":"manifest","protocol":1,"manifest":' + sys.argv[1] + "}", flush=True)
        elif message["type"] == "create":
          print('{"type":"created"}', flush=True)
        else:
          for _ in range(2):
            try:
              if os.fork() == 0: time.sleep(600)
            except OSError: pass
          result = {"outcome": "done", "facts": {}}
          job = message["request"]["job"]
          print(json.dumps({"type": "result", "job": job, "result": result}), flush=True)
      """
    let program = try python(script, as: "forks") { allowance, limits in
      allowance.exec = true
      limits.processes = 2
    }
    let backend = WorkerBackend(program, manifest: FakeBackend.manifest("forks"))
    let instance = instance(backend, program) { $0.processes = 2 }
    let failure = try begin(instance).failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("may run 2"), "\(failure.reason)")
  }

  @Test("A request that is too long to be sent fails its job, and the worker goes on")
  func longRequest() throws {
    let instance = instance(try ShellPlugin(in: folder.path))
    #expect(try begin(instance).facts()["count"] == 1)
    let long = String(repeating: "x", count: HostMessage.longestLine)
    let failure = try begin(instance, facts: ["other": ["text": .string(long)]]).failure()
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("16 MiB"), "\(failure.reason)")
    #expect(try begin(instance).facts()["count"] == 2)
  }

  // MARK: Questions

  @Test(
    "A job that waits behind a question without a good answer is done by the next worker",
    arguments: [
      "kill -SEGV $$", "exit 0", "kill -STOP $$", "echo nonsense",
      #"echo '{"type":"estimates","bytes":[]}'; echo nonsense"#,
    ])
  func badAnswer(deed: String) throws {
    let instance = instance(
      try ShellPlugin(estimate: deed, in: folder.path), policy: WorkerPolicy(patience: 3))
    #expect(try begin(instance).facts()["count"] == 1)
    let bytes = Mutex<[[Int?]]>([])
    // Held back, so that both are sent before the worker can answer.
    queue.suspend()
    let answer = Result {
      instance.estimate(facts: [[:]]) { answer in bytes.withLock { $0.append(answer) } }
      return try begin(instance)
    }
    queue.resume()
    #expect(try answer.get().facts()["count"] == 1)
    #expect(bytes.withLock { $0 } == [[nil]])
  }

  @Test("A plugin whose questions end its worker costs no job an attempt")
  func attempts() throws {
    let fixture = try EngineFixture()
    let assets = try (0..<8).map { try fixture.add("content \($0)") }
    // All takes its time, so that a question waits behind a job, and the next job behind that.
    let spin = "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done"
    let plugin = try ShellPlugin(
      process: spin, estimate: "\(spin); kill -SEGV $$", in: folder.path)
    let events = try fixture.run([.stage("s", "shell", width: 1)], [plugin.backend])
    #expect(events.count == 8 && events.allSatisfy { $0.outcome == .done })
    for asset in assets { #expect(try fixture.jobs(of: asset)["s"]?.attempts == 1) }
  }

  // MARK: The machine

  @Test(
    "A worker that can't be started or set up holds the stage and fails no file",
    arguments: [
      ("/nonexistent/pipeline", ""), ("/bin/false", ""), (BuiltProgram.path, "exit 1"),
      (BuiltProgram.path, "echo nonsense"), (BuiltProgram.path, #"echo '{"type":"unsupported"}'"#),
    ] as [(BytePath, String)])
  func notStarted(host: BytePath, create: String) throws {
    let fixture = try EngineFixture()
    let assets = try (0..<5).map { try fixture.add("content \($0)") }
    let stages: [StageConfiguration] = [.stage("s", "shell", width: 1) { $0.attempts = 1 }]
    let broken = try ShellPlugin(create: create, host: host, in: folder.path)
    let events = try fixture.run(stages, [broken.backend])
    #expect(events.allSatisfy { $0.failureClass == "environment" }, "\(events)")
    #expect(fixture.report.held.count == 1)
    #expect(try fixture.catalog.backlog()["s"] == [.ready: 5])
    let whole = try ShellPlugin(in: folder.path)
    #expect(try fixture.run(stages, [whole.backend]).map(\.outcome).count { $0 == .done } == 5)
    for asset in assets { #expect(try fixture.jobs(of: asset)["s"]?.state == .done) }
  }
}
