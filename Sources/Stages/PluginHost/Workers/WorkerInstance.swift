import Configuration
import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// One worker of a stage, started on demand and replaced when it is gone or worn out.
///
/// Requests and the worker's messages are handled on the instance's own serial queue, whose target
/// is the stage's. Threads outside Dispatch check the worker and end it if necessary. `WorkerState`
/// decides what follows from either.
final class WorkerInstance: PluginInstance {
  struct Shared {
    var state: WorkerState
    /// The worker, unless the state's phase is `none`.
    var worker: WorkerProcess?
    /// Distinguishes the worker's events from those of one that could not be used.
    var workerNumber: Int?
    /// Changed only on the queue, and kept for the next worker.
    var folder: WorkerFolder?
    /// When the files were last checked after a job.
    var filesCheckedAt = ContinuousClock().now
  }

  let backend: WorkerBackend
  let program: WorkerProgram
  let options: JSONValue
  let context: InstanceContext
  let limits: WorkerLimits
  let policy: WorkerPolicy
  let queue: DispatchQueue
  let shared: Mutex<Shared>
  let timer = WatchdogTimer(.processes)
  let filesTimer = WatchdogTimer(.files)
  /// Its number in the budget.
  let number = WorkerInstance.newNumber()

  private static let numbers = Atomic(0)

  /// Returns a number that no instance, worker or folder of this process has.
  static func newNumber() -> Int { numbers.wrappingAdd(1, ordering: .relaxed).newValue }

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
    shared = Mutex(Shared(state: WorkerState(backend.manifest, limits: limits, policy: policy)))
    context.budget?.add(number) { [weak self] in self?.endForOthers(used: $0) }
  }

  deinit { context.budget?.remove(number) }

  // MARK: What the engine asks for

  func warmUp() {
    queue.async { [self] in
      guard case .none = shared.withLock({ $0.state.phase }) else { return }
      // If the worker can't start, the first job reports it.
      start()
    }
  }

  func estimate(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void) {
    queue.async { [self] in
      let question = WorkerState.Question(facts: facts, completion: completion)
      if !shared.withLock({ $0.state.add(question) }) { question.giveUp() }
      advance()
    }
  }

  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void
  ) {
    queue.async { [self] in
      let job = WorkerState.Job(request: request, control: job, completion: completion)
      shared.withLock { $0.state.add(job) }
      advance()
    }
  }

  func end(completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      let (worker, signal) = shared.withLock { shared in
        (shared.worker, shared.state.close(onEnd: completion))
      }
      guard let worker else {
        removeFolder()
        return completion()
      }
      if let signal { worker.signal(signal) }
      worker.closeInput()
      checkOften()
    }
  }

  // MARK: Requests

  /// Gives the worker the next request, if it can have one; starts a worker if there is none.
  func advance() {
    while let step = shared.withLock({ $0.state.next() }) {
      switch step {
      case .start: start()
      case .ask(let question):
        // A guess is better than a failure.
        if (try? send(.estimate(facts: question.facts))) == nil {
          shared.withLock { $0.state.drop() }
          question.giveUp()
        }
      case .begin(let job):
        do throws(PluginFailure) { try begin(job) } catch { drop(job, because: error) }
      }
    }
  }

  private func begin(_ job: WorkerState.Job) throws(PluginFailure) {
    guard try send(.process(placed(job.request, for: job.control))) else { return }
    job.control.onCancel { [weak self, name = job.request.job] in self?.cancel(name) }
  }

  /// Sends the first waiting request, unless the worker is leaving by now.
  ///
  /// - Returns: whether it was sent.
  private func send(_ message: HostMessage) throws(PluginFailure) -> Bool {
    guard let line = WorkerProcess.line(message) else {
      throw PluginFailure(
        .permanent,
        "The facts from other stages have more than "
          + "\(ByteSize(bytes: HostMessage.longestLine)), the most that a plugin can receive.")
    }
    let worker = shared.withLock { shared in shared.state.begin() ? shared.worker : nil }
    worker?.send(line)
    checkOften()
    return worker != nil
  }

  /// Places what a request lets the plugin read in the worker's folder.
  private func placed(
    _ request: PluginRequest, for control: JobControl
  ) throws(PluginFailure) -> PluginRequest {
    guard let folder = shared.withLock({ $0.folder }) else { return request }
    var request = request
    do throws(FileError) {
      // Files that an idle worker made belong to no job.
      try folder.empty()
      let place = { [backend] (path: String, name: String) throws(FileError) in
        try folder.place(
          BytePath(path), as: BytePath(name), mayLink: backend.isReadOnlyEnforced,
          isStopped: { control.isCancelled }
        ).description
      }
      request.input = try place(request.input, request.job)
      for (index, kept) in (request.kept ?? []).enumerated() {
        request.kept?[index].path = try place(kept.path, "\(request.job)-kept-\(index)")
      }
    } catch {
      throw PluginFailure(.transient, error.message)
    }
    request.output = folder.told(folder.outputPath).description
    return request
  }

  private func drop(_ job: WorkerState.Job, because failure: PluginFailure) {
    let folder = shared.withLock { shared in
      shared.state.drop()
      return shared.folder
    }
    // Clean-up: half a copy may be there, and the next job removes what stays.
    try? folder?.empty()
    job.completion(.failed(failure))
  }

  private func cancel(_ job: String) {
    queue.async { [self] in
      let worker = shared.withLock { $0.state.job?.request.job == job ? $0.worker : nil }
      worker?.send(.cancel(job: job))
    }
  }

  // MARK: The worker

  /// Starts a worker; if that fails, so do the jobs that wait for it.
  private func start() {
    let isClosed = shared.withLock { shared in
      shared.state.starting()
      return shared.state.isClosed
    }
    if isClosed {
      let failure = PluginFailure(.transient, "The program was asked to end.")
      return fail(shared.withLock { $0.state.ended() }, because: failure)
    }
    do throws(FileError) {
      let worker = try startProcess()
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      worker.send(.create(options: options))
      checkOften()
    } catch {
      // No file is to blame for what the machine lacks.
      let text = "A worker can't be started: \(error.message)"
      fail(shared.withLock { $0.state.ended() }, because: PluginFailure(.environment, text))
    }
  }

  private func startProcess() throws(FileError) -> WorkerProcess {
    let folder = try readyFolder()
    let number = Self.newNumber()
    let worker = try program.start(in: folder, limits: limits, isGrouped: true, queue: queue) {
      [weak self] in self?.handle($0, of: number)
    }
    worker.begin()
    do throws(FileError) {
      try folder.record(worker.id)
    } catch {
      worker.signal(SIGKILL)
      throw error
    }
    shared.withLock { ($0.worker, $0.workerNumber) = (worker, number) }
    return worker
  }

  private func readyFolder() throws(FileError) -> WorkerFolder {
    if let folder = shared.withLock({ $0.folder }) { return folder }
    let name = BytePath("\(WorkerFolder.namePrefix)\(Self.newNumber())")
    let folder = try WorkerFolder(name, in: context.work)
    shared.withLock { $0.folder = folder }
    return folder
  }

  /// Applies an event, and sends the worker the signal that follows from it.
  func apply(_ event: (inout WorkerState) -> Int32?) {
    let (worker, signal) = shared.withLock { ($0.worker, event(&$0.state)) }
    if let signal { worker?.signal(signal) }
  }

  /// Removes the files of the last job.
  ///
  /// - Returns: `false` if some stay. The next job must not find them, so its worker gets a new
  ///   folder.
  @discardableResult
  func emptyFolder() -> Bool {
    guard let folder = shared.withLock({ $0.folder }) else { return true }
    do throws(FileError) {
      try folder.empty()
      return true
    } catch {
      shared.withLock { $0.folder = nil }
      return false
    }
  }

  func removeFolder() {
    let folder = shared.withLock { shared in
      defer { shared.folder = nil }
      return shared.folder
    }
    // Clean-up: leftovers are removed at the next start.
    try? folder?.remove()
  }
}
