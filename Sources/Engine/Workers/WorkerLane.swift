import Configuration
import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// One worker of a stage, started when there is work for it, replaced when it is gone or worn out.
///
/// Everything happens on a serial queue of its own, whose target is the stage's. What is
/// sent is answered in order, so that a question can be sent before the last is answered.
final class WorkerLane: Lane {
  /// An answer that is waited for.
  private enum Expected {
    case manifest
    case created
    case estimates(count: Int, completion: @Sendable ([Int?]) -> Void)
    case result
  }

  private struct Job {
    let request: PluginRequest
    let control: JobControl
    let completion: @Sendable (PluginResult) -> Void
    /// Begun once the plugin is set up, so that this counts for no job.
    var watch: JobWatch?
    /// Why it was ended.
    var verdict: PluginFailure?
    var log = LogBudget()
  }

  private struct State {
    var worker: WorkerProcess?
    var folder: WorkerFolder?
    var expected: [Expected] = []
    /// When the answer that is expected next became the next.
    var expectedSince = ContinuousClock().now
    var job: Job?
    /// Whether the worker is on its way out; what comes meanwhile waits for the next one.
    var isLeaving = false
    var waiting: [Job] = []
    var jobsDone = 0
    var lastLog = ""
    /// Why the worker was ended, where no job was to blame.
    var failure: PluginFailure?
    var onEnd: [@Sendable () -> Void] = []
  }

  private let carrier: WorkerCarrier
  private let program: WorkerProgram
  private let options: JSONValue
  private let site: LaneSite
  private let limits: WorkerLimits
  private let queue: DispatchQueue
  private let name: BytePath
  private let state = Mutex(State())
  private let timer: LaneTimer

  /// A worker is replaced after this many jobs, for what a library never gives back.
  static let mostJobs = 2000
  /// A worker that uses more memory than this between two jobs is replaced.
  static let mostIdleMemory = 512 << 20
  /// What a plugin may take to be loaded and set up, or to answer a question.
  private static let patience = Duration.seconds(30)
  /// The time between being asked to end and being ended.
  private static let grace = DispatchTimeInterval.seconds(2)

  private static let numbers = Atomic(0)

  init(
    _ carrier: WorkerCarrier, program: WorkerProgram, options: JSONValue, site: LaneSite
  ) {
    self.carrier = carrier
    self.program = program
    self.options = options
    self.site = site
    limits = WorkerLimits(
      site.limits, allowance: site.allowance, memoryBudget: site.memoryBudget)
    queue = DispatchQueue(label: site.queue.label + ".worker", target: site.queue)
    let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    name = BytePath("worker-\(number)")
    timer = LaneTimer(queue: queue, milliseconds: JobWatch.interval)
  }

  // MARK: What the engine asks for

  func warmUp() {
    queue.async { [self] in
      // What keeps it from starting is told with the first job.
      if !state.withLock({ $0.isLeaving }) { _ = try? readyWorker() }
    }
  }

  func estimate(
    facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void
  ) {
    queue.async { [self] in
      // A guess will do where the answer would have to be waited for.
      guard !state.withLock({ $0.isLeaving }), let worker = try? readyWorker() else {
        return completion(facts.map { _ in nil })
      }
      expect(.estimates(count: facts.count, completion: completion))
      worker.send(.estimate(facts: facts))
    }
  }

  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void
  ) {
    queue.async { [self] in
      begin(Job(request: request, control: job, completion: completion))
    }
  }

  func end(completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      let worker = state.withLock { state in
        if state.worker != nil { state.onEnd.append(completion) }
        return state.worker
      }
      guard let worker else {
        removeFolder()
        return completion()
      }
      // One that is at work is past its time; an idle one ends by itself.
      let isAtWork = state.withLock { state in
        state.isLeaving = true
        return state.job != nil
      }
      if isAtWork { worker.signal(SIGKILL) }
      worker.closeInput()
      endSoon(worker)
    }
  }

  // MARK: A job

  private func begin(_ job: Job) {
    let mustWait = state.withLock { state in
      if state.isLeaving { state.waiting.append(job) }
      return state.isLeaving
    }
    if mustWait { return }
    do throws(PluginFailure) {
      let worker = try readyWorker()
      let request = try placed(job.request)
      state.withLock { $0.job = job }
      expect(.result)
      worker.send(.process(request))
      startTimer()
      job.control.onCancel { [weak self] in self?.cancel(request.job) }
    } catch {
      job.completion(.failed(error))
    }
  }

  /// Brings the original to the worker.
  private func placed(_ request: PluginRequest) throws(PluginFailure) -> PluginRequest {
    guard let folder = state.withLock({ $0.folder }) else { return request }
    var request = request
    do throws(FileError) {
      request.input =
        try folder.place(
          BytePath(request.input), as: BytePath(request.job),
          mayLink: carrier.isReadOnlyEnforced
        ).description
    } catch {
      throw PluginFailure(.transient, error.message)
    }
    request.output = folder.outputPath.description
    return request
  }

  private func cancel(_ job: String) {
    queue.async { [self] in
      let worker = state.withLock { $0.job?.request.job == job ? $0.worker : nil }
      worker?.send(.cancel(job: job))
    }
  }

  private func finish(_ result: PluginResult) {
    timer.stop()
    let (job, folder) = state.withLock { state in
      defer {
        state.job = nil
        state.jobsDone += 1
      }
      return (state.job, state.folder)
    }
    guard let job else { return }
    job.completion(checked(result, of: job, in: folder))
    do throws(FileError) {
      try folder?.empty()
    } catch {
      // The next job must not find what this one left: its worker gets a new folder.
      retire()
      state.withLock { $0.folder = nil }
    }
    if isWornOut { retire() }
  }

  /// Brings what the plugin made to where it belongs.
  private func checked(
    _ result: PluginResult, of job: Job, in folder: WorkerFolder?
  ) -> PluginResult {
    if let verdict = job.verdict { return .failed(verdict) }
    guard case .done(_, let renditions) = result, let folder else { return result }
    if let fault = RenditionCheck.fault(in: renditions) { return nonsense("in which \(fault)") }
    do throws(FileError) {
      return try folder.move(result, to: BytePath(job.request.output))
    } catch {
      let isTransient = [.noSpace, .ioError, .tooManyOpen].contains(error.code)
      return .failed(
        PluginFailure(
          isTransient ? .transient : .permanent,
          "What the plugin made is unusable: \(error.message)"))
    }
  }

  private func nonsense(_ what: String) -> PluginResult {
    .failed(PluginFailure(.permanent, "The plugin \(carrier.manifest.id) gave an answer \(what)."))
  }

  private var isWornOut: Bool {
    let (worker, jobs) = state.withLock { ($0.worker, $0.jobsDone) }
    guard let worker else { return false }
    if jobs >= Self.mostJobs { return true }
    return (ProcessUsage.of(process: worker.id)?.memoryBytes ?? 0) > Self.mostIdleMemory
  }

  // MARK: The worker

  /// Starts a worker where there is none.
  private func readyWorker() throws(PluginFailure) -> WorkerProcess {
    if let worker = state.withLock({ $0.worker }) { return worker }
    do throws(FileError) {
      let known = state.withLock { $0.folder }
      let folder = if let known { known } else { try WorkerFolder(name, in: site.work) }
      state.withLock { $0.folder = folder }
      let worker = try program.start(
        in: folder, limits: limits.ofProcess, mayFork: limits.processes > 1, queue: queue
      ) { [weak self] in self?.take($0) }
      try folder.record(worker.id)
      state.withLock { state in
        state.worker = worker
        state.jobsDone = 0
        state.failure = nil
        state.lastLog = ""
      }
      expect(.manifest)
      expect(.created)
      worker.begin()
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      worker.send(.create(options: options))
      startTimer()
      return worker
    } catch {
      throw PluginFailure(.transient, "A worker can't be started: \(error.message)")
    }
  }

  private func expect(_ answer: Expected) {
    state.withLock { state in
      if state.expected.isEmpty { state.expectedSince = ContinuousClock().now }
      state.expected.append(answer)
    }
  }

  /// Ends a worker that is idle; the next job starts another.
  private func retire() {
    let worker = state.withLock { state in
      state.isLeaving = state.worker != nil
      return state.worker
    }
    worker?.signal(SIGKILL)
  }

  /// Asks all of a worker's processes to end, and ends them if they don't.
  private func stop(_ worker: WorkerProcess) {
    worker.signal(SIGTERM)
    endSoon(worker)
  }

  private func endSoon(_ worker: WorkerProcess) {
    queue.asyncAfter(deadline: .now() + Self.grace) { worker.signal(SIGKILL) }
  }

  private func removeFolder() {
    let folder = state.withLock { state in
      defer { state.folder = nil }
      return state.folder
    }
    // Clean-up: what is left is removed at the next start.
    try? folder?.remove()
  }

  // MARK: What the worker says

  private func take(_ event: WorkerProcess.Event) {
    switch event {
    case .message(let message): take(message)
    case .log(let line): log(.info, line)
    case .nonsense(let what): breakOff(nonsense(what))
    case .ended(let ending): ended(ending)
    }
  }

  private func take(_ message: PluginMessage) {
    switch message {
    case .log(let level, let text): return log(level, text)
    case .progress(let fraction): return state.withLock { $0.job?.control }?.report(fraction) ?? ()
    // What one says that is being ended counts no more: its end does.
    case _ where state.withLock({ $0.isLeaving || $0.job?.verdict != nil }): return
    default: break
    }
    let expected = state.withLock { state -> Expected? in
      state.expectedSince = ContinuousClock().now
      return state.expected.isEmpty ? nil : state.expected.removeFirst()
    }
    switch (expected, message) {
    case (.manifest?, .manifest(HostMessage.currentProtocol, let manifest))
    where manifest == carrier.manifest:
      return
    case (.manifest?, .manifest):
      fail(
        PluginFailure(
          .environment,
          "The plugin \(carrier.manifest.id) is another one than at the start of this program: "
            + "start it again."))
    case (.created?, .created):
      beginWatch()
    case (.manifest?, .failed(let failure)), (.created?, .failed(let failure)):
      fail(PluginFailure(.environment, failure.reason))
    case (.estimates(let count, let completion)?, .estimates(let bytes)) where bytes.count == count:
      completion(bytes)
    case (.estimates(let count, let completion)?, .unsupported):
      completion(Array(repeating: nil, count: count))
    case (.result?, .result(let job, let result))
    where job == state.withLock({ $0.job?.request.job }):
      finish(result)
    case (let expected, _):
      if case .estimates(let count, let completion)? = expected {
        completion(Array(repeating: nil, count: count))
      }
      breakOff(nonsense("that nobody asked for"))
    }
  }

  private func log(_ level: PluginHost.LogLevel, _ text: String) {
    let control = state.withLock { state -> JobControl? in
      state.lastLog = text
      guard state.job?.log.take(text) == true else { return nil }
      return state.job?.control
    }
    control?.write(level, text)
  }

  private func beginWatch() {
    state.withLock { state in
      guard let worker = state.worker, let folder = state.folder, state.job?.watch == nil else {
        return
      }
      state.job?.watch = JobWatch(limits, process: worker.id, folder: folder)
    }
  }

  /// Ends a worker that doesn't keep to the protocol.
  private func breakOff(_ result: PluginResult) {
    guard case .failed(let failure) = result else { return }
    let worker = state.withLock { state in
      if state.job?.verdict == nil { state.job?.verdict = failure }
      state.isLeaving = true
      return state.worker
    }
    worker?.signal(SIGKILL)
  }

  /// Ends a worker that the machine lacks something for.
  private func fail(_ failure: PluginFailure) {
    state.withLock { $0.failure = $0.failure ?? failure }
    breakOff(.failed(failure))
  }

  private func ended(_ ending: ChildProcess.Ending) {
    timer.stop()
    let (expected, job, failure, last, onEnd) = state.withLock { state in
      defer {
        state.worker = nil
        state.isLeaving = false
        state.expected = []
        state.onEnd = []
      }
      return (state.expected, state.job, state.failure, state.lastLog, state.onEnd)
    }
    for answer in expected {
      if case .estimates(let count, let completion) = answer {
        completion(Array(repeating: nil, count: count))
      }
    }
    if job != nil {
      let isSetUp = !expected.contains { if case .created = $0 { true } else { false } }
      finish(
        .failed(
          failure
            ?? program.failure(
              ending, isSetUp: isSetUp, outputBytes: limits.outputBytes, log: last)))
    }
    if !onEnd.isEmpty { removeFolder() }
    for body in onEnd { body() }
    for job in takeWaiting() { begin(job) }
  }

  private func takeWaiting() -> [Job] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  // MARK: Time

  private func startTimer() {
    timer.start { [weak self] in self?.look() }
  }

  private func look() {
    let (worker, expected, since) = state.withLock { ($0.worker, $0.expected, $0.expectedSince) }
    guard let worker else { return timer.stop() }
    switch expected.first {
    case nil: timer.stop()
    case .result: lookAtJob(worker)
    case .manifest, .created, .estimates:
      guard ContinuousClock().now - since > Self.patience else { return }
      fail(
        PluginFailure(
          .environment,
          "The plugin \(carrier.manifest.id) gave no answer for \(Self.patience)."))
    }
  }

  private func lookAtJob(_ worker: WorkerProcess) {
    beginWatch()
    let verdict = state.withLock { state -> PluginFailure? in
      guard state.job?.verdict == nil, let failure = state.job?.watch?.verdict() else { return nil }
      state.job?.verdict = failure
      return failure
    }
    if verdict != nil { stop(worker) }
  }
}
