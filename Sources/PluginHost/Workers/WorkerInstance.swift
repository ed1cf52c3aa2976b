import Configuration
import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// One worker of a stage, started on demand and replaced when it is gone or worn out.
///
/// Messages are sent and received on the instance's own serial queue, whose target is the stage's.
/// Answers arrive in the order of requests, so a request may be sent before the previous answer
/// arrives. Threads outside Dispatch check the worker and end it if necessary.
final class WorkerInstance: PluginInstance {
  /// An outstanding answer.
  enum Expected {
    case manifest
    case created
    case estimates(count: Int, completion: @Sendable ([Int?]) -> Void)
    case result
  }

  struct Job {
    let request: PluginRequest
    let control: JobControl
    let completion: @Sendable (PluginResult) -> Void
    /// Created once the plugin is set up, so that setup counts for no job.
    var monitor: JobMonitor?
    /// Why the job was ended.
    var verdict: PluginFailure?
    var log = LogBudget()
  }

  struct State {
    var worker: WorkerProcess?
    var folder: WorkerFolder?
    var expected: [Expected] = []
    /// Since when `expected.first` has been outstanding.
    var expectedSince = ContinuousClock().now
    /// The worker's number in this instance, which tells late events from those of its successor.
    var number = 0
    var numberInBudget: Int?
    /// When to kill a worker that was asked to end.
    var killAt: ContinuousClock.Instant?
    /// When the worker closed its standard output, after which it can't answer.
    var outputClosedAt: ContinuousClock.Instant?
    /// The processor seconds of an idle worker at the last check.
    var idleProcessorSeconds: Double?
    /// When the files were last checked after a job.
    var filesSeenAt = ContinuousClock().now
    var job: Job?
    /// Whether the worker is being ended; new jobs wait for the next one.
    var isLeaving = false
    var waiting: [Job] = []
    /// Whether no more workers may start.
    var isClosed = false
    /// Whether the worker is being ended over a question, so that the job behind it is not to
    /// blame.
    var isJobInnocent = false
    var jobsDone = 0
    var lastLog = ""
    /// Why the worker was ended, if no job was to blame.
    var failure: PluginFailure?
    var onEnd: [@Sendable () -> Void] = []
  }

  let backend: WorkerBackend
  let program: WorkerProgram
  let options: JSONValue
  let context: InstanceContext
  let limits: WorkerLimits
  let policy: WorkerPolicy
  let queue: DispatchQueue
  let state = Mutex(State())
  let timer = WatchdogTimer(.processes)
  let filesTimer = WatchdogTimer(.files)

  private static let numbers = Atomic(0)

  /// Returns a folder name that no instance of this process has used.
  static func newName() -> BytePath {
    BytePath("\(WorkerFolder.namePrefix)\(numbers.wrappingAdd(1, ordering: .relaxed).newValue)")
  }

  init(
    _ backend: WorkerBackend, program: WorkerProgram, options: JSONValue, context: InstanceContext,
    policy: WorkerPolicy = WorkerPolicy()
  ) {
    self.backend = backend
    self.program = program
    self.options = options
    self.context = context
    self.policy = policy
    limits = WorkerLimits(
      context.limits, allowance: context.allowance, memoryShare: context.memoryShare)
    queue = DispatchQueue(label: context.queue.label + ".worker", target: context.queue)
    timer.onTick { [weak self] in self?.check() }
    filesTimer.onTick { [weak self] in self?.checkFiles() }
    let number = context.budget?.add { [weak self] in self?.endForOthers(used: $0) }
    state.withLock { $0.numberInBudget = number }
  }

  deinit {
    if let number = state.withLock({ $0.numberInBudget }) { context.budget?.remove(number) }
  }

  // MARK: What the engine asks for

  func warmUp() {
    queue.async { [self] in
      // If the worker can't start, the first job reports it.
      if !state.withLock({ $0.isLeaving }) { _ = try? readyWorker() }
    }
  }

  func estimate(
    facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void
  ) {
    queue.async { [self] in
      // A guess is better than waiting for an answer.
      guard !state.withLock({ $0.isLeaving }), let worker = try? readyWorker() else {
        return completion(facts.map { _ in nil })
      }
      guard worker.send(.estimate(facts: facts)) else { return completion(facts.map { _ in nil }) }
      expect(.estimates(count: facts.count, completion: completion))
      monitorClosely()
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
        state.isClosed = true
        if state.worker != nil { state.onEnd.append(completion) }
        return state.worker
      }
      guard let worker else {
        removeFolder()
        return completion()
      }
      // A busy worker is past its deadline; an idle one ends by itself.
      let isAtWork = state.withLock { state in
        state.isLeaving = true
        return state.job != nil
      }
      if isAtWork { worker.signal(SIGKILL) }
      worker.closeInput()
      endSoon()
    }
  }

  // MARK: A job

  func begin(_ job: Job) {
    let mustWait = state.withLock { state in
      if state.isLeaving { state.waiting.append(job) }
      return state.isLeaving
    }
    if mustWait { return }
    do throws(PluginFailure) {
      let worker = try readyWorker()
      let request = try placed(job.request)
      guard worker.send(.process(request)) else {
        throw PluginFailure(
          .permanent,
          "The facts from other stages have more than "
            + "\(ByteSize(bytes: HostMessage.longestLine)), the most that a plugin can receive.")
      }
      state.withLock { $0.job = job }
      expect(.result)
      monitorClosely()
      job.control.onCancel { [weak self] in self?.cancel(request.job) }
    } catch {
      // Clean-up: half a copy may be there, and the next job removes what stays.
      try? state.withLock { $0.folder }?.empty()
      job.completion(.failed(error))
    }
  }

  /// Places the original in the worker's folder.
  private func placed(_ request: PluginRequest) throws(PluginFailure) -> PluginRequest {
    guard let folder = state.withLock({ $0.folder }) else { return request }
    var request = request
    do throws(FileError) {
      // Files that an idle worker made belong to no job.
      try folder.empty()
      request.input =
        try folder.place(
          BytePath(request.input), as: BytePath(request.job),
          mayLink: backend.isReadOnlyEnforced
        ).description
    } catch {
      throw PluginFailure(.transient, error.message)
    }
    request.output = folder.told(folder.outputPath).description
    return request
  }

  private func cancel(_ job: String) {
    queue.async { [self] in
      let worker = state.withLock { $0.job?.request.job == job ? $0.worker : nil }
      worker?.send(.cancel(job: job))
    }
  }

  func finish(_ result: PluginResult) {
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
      // The next job must not find these leftovers, so its worker gets a new folder.
      retire()
      state.withLock { $0.folder = nil }
    }
    if isWornOut || hasOtherProcesses { retire() }
  }

  /// Checks a result and moves its files to the job's output folder.
  private func checked(
    _ result: PluginResult, of job: Job, in folder: WorkerFolder?
  ) -> PluginResult {
    if let verdict = job.verdict { return .failed(verdict) }
    if let fault = ResultCheck.fault(in: result) {
      return .failed(malformedAnswer("in which \(fault)"))
    }
    guard let folder else { return result }
    do throws(FileError) {
      if let failure = try finalCheck(at: folder, isSure: result.hasRenditions) {
        // Files that it keeps open would count for the next job as well.
        retire()
        return .failed(failure)
      }
      return try folder.move(result, to: BytePath(job.request.output))
    } catch {
      let isTransient = [.noSpace, .ioError, .tooManyOpen].contains(error.code)
      return .failed(
        PluginFailure(
          isTransient ? .transient : .permanent,
          "What the plugin made is unusable: \(error.message)"))
    }
  }

  /// Checks the files that a job made or left open, in case it was faster than the periodic checks.
  ///
  /// - Parameter isSure: whether to check even if that was just done.
  private func finalCheck(
    at folder: WorkerFolder, isSure: Bool
  ) throws(FileError) -> PluginFailure? {
    let now = ContinuousClock().now
    let worker = state.withLock { state -> WorkerProcess? in
      guard isSure || now - state.filesSeenAt >= .seconds(JobMonitor.interval) else { return nil }
      state.filesSeenAt = now
      return state.worker
    }
    guard let worker else { return nil }
    return try limits.verdict(on: folder, unlinkedBytes: try worker.unlinkedBytes(besides: folder))
  }

  func malformedAnswer(_ what: String) -> PluginFailure {
    PluginFailure(.permanent, "The plugin \(backend.manifest.id) returned an answer \(what).")
  }

  /// Whether a job left processes behind, which the next job must not meet.
  private var hasOtherProcesses: Bool {
    guard limits.processes > 1, let worker = state.withLock({ $0.worker }) else { return false }
    return (worker.usage()?.processes ?? 0) > 1
  }

  private var isWornOut: Bool {
    let (worker, jobs) = state.withLock { ($0.worker, $0.jobsDone) }
    guard let worker else { return false }
    if jobs >= policy.mostJobs { return true }
    return (worker.usage()?.memoryBytes ?? 0) > policy.mostIdleMemory
  }
}

extension PluginResult {
  fileprivate var hasRenditions: Bool {
    guard case .done(_, let renditions) = self else { return false }
    return !renditions.isEmpty
  }
}
