package import Catalog
import Configuration
import Dispatch
package import Files
package import Originals
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization

/// Runs the stages: claims ready rows from the ledger in bounded batches,
/// admits jobs by counting, and commits what comes of them in groups.
///
/// Two kinds of queues: each stage's own concurrent one, on which plugins work,
/// and one serial queue, `pipeline.engine`, on which everything that touches
/// the ledger happens. A finished job makes room for the next one at once; its
/// result waits for the serial queue, where the results that gathered while the
/// last group was flushed are the next group.
package final class Engine: Sendable {
  struct State {
    var admission: Admission
    var finished: [FinishedJob] = []
    /// Whether a pass over the ledger is due already.
    var isPassDue = false
    /// Whether a pass is under way: what it took is nowhere else to be seen.
    var isPassing = false
    /// Running jobs, until what they made is collected.
    var running: [AttemptToken: (job: RunningJob, control: JobControl)] = [:]
    var error: EngineError?
  }

  let ledger: any Ledger
  let lanes: [StageLanes]
  let renditions: RenditionStore
  let report: any EngineReport
  let originals: any OriginalStore
  let work: WorkFolders
  let state: Mutex<State>
  private let shortage: @Sendable () -> String?
  private let serial = DispatchQueue(label: "pipeline.engine")
  private let idle = DispatchSemaphore(value: 0)

  /// Results that wait for the serial queue before no more jobs begin.
  static let mostUncommitted = 256

  /// Makes an engine; `start` begins the work.
  ///
  /// - Parameters:
  ///   - library: the library's folder, which has `renditions/` and `work/`.
  ///   - memoryBudget: the bytes that all running jobs may need together.
  ///   - shortage: why there is no room for what jobs make, as a sentence; `nil` for room.
  ///   - isStopped: whether to leave the rest of what changed stages mean for assets that are
  ///     there; asked again and again meanwhile.
  package init(
    _ plan: StagePlan, ledger: any Ledger, originals: any OriginalStore, library: Descriptor,
    memoryBudget: Int, report: any EngineReport,
    shortage: @escaping @Sendable () -> String? = { nil }, isStopped: () -> Bool = { false }
  ) throws(EngineError) {
    self.ledger = ledger
    self.shortage = shortage
    self.originals = originals
    self.report = report
    renditions = RenditionStore(library: library)
    do throws(FileError) {
      work = try WorkFolders(in: library)
    } catch {
      throw EngineError(.file, error.message, path: error.path, cause: error)
    }
    let workPath = work.path
    let pool = MemoryPool(most: ByteSize(bytes: memoryBudget))
    lanes = plan.stages.map { StageLanes($0, work: workPath, pool: pool) }
    let widths = plan.stages.map(\.configuration.concurrency)
    state = Mutex(State(admission: Admission(widths: widths, memoryBudget: memoryBudget)))
    do throws(CatalogError) {
      try ledger.configure(plan.stages.map(\.definition), isStopped: isStopped)
    } catch {
      throw EngineError(.ledger, error.message, path: error.path, cause: error)
    }
    for (index, stage) in plan.stages.enumerated() {
      guard let fault = stage.fault else { continue }
      state.withLock { $0.admission.stages[index].isHeld = true }
      tellHeld(index, because: fault.reason)
    }
  }

  /// Says that the ledger may have ready rows; returns at once.
  package func wake() {
    state.withLock { state in
      for index in state.admission.stages.indices {
        state.admission.stages[index].isExhausted = false
      }
    }
    schedulePass()
  }

  /// Makes the instances of all plugins, which the first jobs else wait for; returns at once.
  package func warmUp() {
    serial.async { [self] in
      for index in lanes.indices {
        let active = state.withLock { $0.admission.stages[index].active }
        // What keeps a plugin from being made is told when there is work for it.
        try? lanes[index].prepare(active: active)
        lanes[index].warmUp()
      }
    }
  }

  /// Why the engine can't go on, or `nil`.
  package var failure: EngineError? { state.withLock { $0.error } }

  /// Waits until no row is ready and no job runs, or `isStopped` says so.
  ///
  /// Called on a thread that is no Dispatch worker.
  ///
  /// - Parameter isStopped: asked every now and then, on that thread.
  /// - Throws: the error that ended the engine's work.
  package func drain(isStopped: () -> Bool) throws(EngineError) {
    wake()
    while true {
      _ = idle.wait(timeout: .now() + .milliseconds(50))
      if isStopped() { return }
      if let error = state.withLock({ $0.error }) { throw error }
      if isIdle { return }
    }
  }

  /// Lets no more jobs begin, gives claimed ones back, asks running ones to give
  /// up, and waits for them until the deadline.
  package func stop(deadline: ContinuousClock.Instant) {
    let controls = state.withLock { state in
      state.admission.isStopped = true
      return state.running.values.map(\.control)
    }
    for control in controls { control.giveUp() }
    // A pass that is under way may still be claiming, so its end is waited for.
    serial.sync { [self] in
      let waiting = state.withLock { state in
        var tokens: [AttemptToken] = []
        for index in state.admission.stages.indices {
          tokens += state.admission.stages[index].waiting.map(\.job.token)
          state.admission.stages[index].waiting = []
        }
        return tokens
      }
      giveBack(waiting)
    }
    schedulePass()
    while ContinuousClock().now < deadline, !isQuiet {
      _ = idle.wait(timeout: .now() + .milliseconds(20))
    }
  }

  /// Ends the workers; called once no job runs any more, or those that run are past their time.
  ///
  /// Called on a thread that is no Dispatch worker; takes no longer than a few seconds.
  package func close() {
    let group = DispatchGroup()
    for stage in lanes { stage.end(in: group) }
    // Who does not end by then is ended by the kernel, together with this process.
    _ = group.wait(timeout: .now() + .seconds(10))
  }

  /// Lets stages run again that the machine lacked something for: it may be there by now.
  package func releaseHeldStages() throws(EngineError) {
    // A plugin that could not be used when the plan was made needs another plan.
    for index in lanes.indices where lanes[index].plan.fault == nil {
      let wasHeld = state.withLock { state in
        defer { state.admission.stages[index].isHeld = false }
        return state.admission.stages[index].isHeld
      }
      if wasHeld { try record(index, heldBecause: nil) }
    }
  }

  /// The job that has been running for the longest; `nil` where none is.
  package var longestJob: RunningJob? {
    state.withLock { state in state.running.values.map(\.job).min { $0.since < $1.since } }
  }

  /// Names of the stages that don't run, because the machine lacks something.
  package var heldStages: Set<String> {
    state.withLock { state in
      Set(lanes.indices.filter { state.admission.stages[$0].isHeld }.map { lanes[$0].plan.name })
    }
  }

  private var isIdle: Bool {
    state.withLock { state in
      state.admission.active == 0 && state.admission.waiting == 0 && state.finished.isEmpty
        && !state.isPassDue && !state.isPassing
        && state.admission.stages.allSatisfy { $0.isExhausted || $0.isHeld }
    }
  }

  /// Whether no job runs and none waits to be recorded.
  package var isQuiet: Bool {
    state.withLock {
      $0.admission.active == 0 && $0.admission.estimating == 0 && $0.finished.isEmpty
        && !$0.isPassDue && !$0.isPassing
    }
  }

  // MARK: Passes over the ledger

  func schedulePass() {
    let isNew = state.withLock { state in
      defer { state.isPassDue = true }
      return !state.isPassDue
    }
    if isNew { serial.async { [self] in pass() } }
  }

  /// Commits what is finished, claims what there is room for, begins what may begin.
  private func pass() {
    let finished = state.withLock { state in
      state.isPassDue = false
      state.isPassing = true
      defer { state.finished = [] }
      return state.finished
    }
    do throws(EngineError) {
      try commit(finished)
      try claim()
      try claimSuspects()
    } catch {
      state.withLock { state in
        state.error = error
        state.admission.isStopped = true
      }
      report.failed()
    }
    begin()
    state.withLock { $0.isPassing = false }
    if isIdle || state.withLock({ $0.error != nil }) || isQuiet { idle.signal() }
  }

  private func claim() throws(EngineError) {
    for index in lanes.indices {
      let room = state.withLock { state in
        let stage = state.admission.stages[index]
        guard !state.admission.isStopped, !stage.isExhausted, !stage.isHeld else { return 0 }
        // Two rounds ahead, so that no lane waits for the ledger.
        let wanted = stage.width * 4
        let waiting = stage.waiting.count + stage.estimating
        return waiting <= wanted / 2 ? wanted - waiting : 0
      }
      if room > 0 { try claim(upTo: room, stage: index, suspects: false) }
    }
  }

  /// Claims one suspect when nothing else is left to do.
  private func claimSuspects() throws(EngineError) {
    let isOnlyWork = state.withLock { state in
      state.admission.active == 0 && state.admission.waiting == 0 && state.finished.isEmpty
        && !state.isPassDue && !state.admission.isStopped
        && state.admission.stages.allSatisfy { $0.isExhausted || $0.isHeld }
    }
    guard isOnlyWork else { return }
    for index in lanes.indices where !state.withLock({ $0.admission.stages[index].isHeld }) {
      try claim(upTo: 1, stage: index, suspects: true)
      if state.withLock({ $0.admission.waiting }) > 0 { return }
    }
  }

  private func claim(upTo limit: Int, stage index: Int, suspects: Bool) throws(EngineError) {
    let stage = lanes[index]
    // Said before the claim, so that a wake-up that comes during it is not lost.
    state.withLock { $0.admission.stages[index].isExhausted = true }
    let claimed = try inLedger { () throws(CatalogError) in
      try ledger.claim(stage: stage.plan.name, limit: limit, suspects: suspects)
    }
    if claimed.count == limit {
      state.withLock { $0.admission.stages[index].isExhausted = false }
    }
    guard !claimed.isEmpty else { return }
    if let reason = shortage() { return try hold(index, claimed, because: reason) }
    do throws(PluginFailure) {
      let active = state.withLock { $0.admission.stages[index].active }
      try stage.prepare(active: active)
    } catch {
      return try hold(index, claimed, because: error.reason)
    }
    warmUpDependents(of: index, jobs: claimed.count)
    let accepted = claimed.filter { isAccepted($0, stage: index) }
    guard !accepted.isEmpty else { return }
    state.withLock { $0.admission.stages[index].estimating += accepted.count }
    stage.memory(facts: accepted.map { aliased($0.facts) }) { [self] bytes in
      // On the queue on which everything that touches the ledger happens.
      serial.async { [self] in queue(Array(zip(accepted, bytes)), stage: index) }
    }
  }

  /// Gets those stages ready whose jobs come after these: else the first of them would wait for
  /// their plugin to be loaded, while processors have nothing to do.
  private func warmUpDependents(of index: Int, jobs: Int) {
    let name = lanes[index].plan.name
    for dependent in lanes where dependent.isUnused {
      guard dependent.plan.definition.needs.contains(name) else { continue }
      // What keeps a plugin from being made is told when there is work for it.
      try? dependent.prepare(active: 0)
      dependent.warmUp(for: jobs)
    }
  }

  /// Whether the stage works on files of the job's type; if not, the job is skipped.
  private func isAccepted(_ job: ClaimedJob, stage index: Int) -> Bool {
    let stage = lanes[index]
    let text = aliased(job.facts)[StagePlan.identifier]?["mediaType"]?.string ?? ""
    if stage.plan.carrier.manifest.accepts == nil { return true }
    if stage.plan.accepts(MediaType(rawValue: text)) { return true }
    let reason =
      "The plugin \(stage.plan.configuration.plugin) does not work on "
      + "\(text.isEmpty ? "files of an unknown type" : text)."
    finish(job, stage: index, .skipped(reason: reason))
    return false
  }

  /// Lets jobs wait for their turn, or ends those that may not begin at all.
  private func queue(_ jobs: [(job: ClaimedJob, memory: Int)], stage index: Int) {
    let limits = JobLimits(limits: lanes[index].plan.configuration.limits)
    var admitted: [Admission.Waiting] = []
    for (job, memory) in jobs {
      let identity = aliased(job.facts)[StagePlan.identifier]
      if let refusal = limits.refusal(of: job, identity: identity, memory: memory) {
        finish(job, stage: index, .failed(refusal))
      } else {
        admitted.append(.init(job: job, memory: memory))
      }
    }
    let isLate = state.withLock { state in
      state.admission.stages[index].estimating -= jobs.count
      if state.admission.isStopped || state.admission.stages[index].isHeld { return true }
      state.admission.stages[index].waiting += admitted
      return false
    }
    if isLate { giveBack(admitted.map(\.job.token)) }
    begin()
    // Whoever waits for the end of all work is told if there is none.
    schedulePass()
  }

  /// Makes jobs ready again that have not begun.
  private func giveBack(_ tokens: [AttemptToken]) {
    do throws(CatalogError) {
      try ledger.giveBack(tokens)
    } catch {
      report.warning(error.message)
    }
  }

  /// Ends a job that never began.
  private func finish(_ job: ClaimedJob, stage index: Int, _ result: FinishedJob.Result) {
    state.withLock {
      $0.finished.append(FinishedJob(job: job, stage: index, result: result, seconds: 0))
    }
    schedulePass()
  }

  /// Keeps a stage from running because the machine lacks something that it
  /// needs; its jobs wait for the next run and count for nothing.
  func hold(
    _ index: Int, _ claimed: [ClaimedJob], because reason: String
  ) throws(EngineError) {
    let tokens = state.withLock { state in
      let waiting = state.admission.stages[index].waiting.map(\.job.token)
      state.admission.stages[index].waiting = []
      state.admission.stages[index].isHeld = true
      let tokens = Set(waiting + claimed.map(\.token))
      state.finished.removeAll { tokens.contains($0.job.token) }
      return Array(tokens)
    }
    try inLedger { () throws(CatalogError) in try ledger.giveBack(tokens) }
    try record(index, heldBecause: reason)
    tellHeld(index, because: reason)
  }

  private func record(_ index: Int, heldBecause reason: String?) throws(EngineError) {
    try inLedger { () throws(CatalogError) in
      try ledger.hold(stage: lanes[index].plan.name, because: reason)
    }
  }

  private func tellHeld(_ index: Int, because reason: String) {
    let stage = lanes[index].plan.configuration
    report.held(stage: stage.name, plugin: stage.plugin, reason: reason)
  }

  func inLedger<Result>(
    _ body: () throws(CatalogError) -> Result
  ) throws(EngineError) -> Result {
    do throws(CatalogError) {
      return try body()
    } catch {
      throw EngineError(.ledger, error.message, path: error.path, cause: error)
    }
  }
}
