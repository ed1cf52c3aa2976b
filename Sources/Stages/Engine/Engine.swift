import Configuration
import Dispatch
package import Files
package import Originals
import PipelineModel
import PipelinePlugin
import PluginHost
package import Records
package import Renditions
import Synchronization

/// Runs the stages: claims ready rows from the ledger in bounded batches, admits jobs within width
/// and memory limits, and commits results in groups.
///
/// Plugins work on one concurrent queue per stage; everything that touches the ledger happens on
/// the serial queue `pipeline.engine`. A finished job makes room for the next one at once. Its
/// result waits for the serial queue: the results that gather during one commit, or for a moment while
/// enough jobs wait, form the next group.
package final class Engine: Sendable {
  struct State {
    var jobs: JobQueue
    var finished: [FinishedJob] = []
    /// Whether a pass over the ledger is already scheduled.
    var isPassDue = false
    /// Whether one is scheduled that comes later, unless there is one before.
    var isGathering = false
    /// Whether a pass is running: the results it took are recorded nowhere else.
    var isPassing = false
    /// Running jobs, until their results are collected.
    var running: [AttemptToken: (job: RunningJob, control: JobControl)] = [:]
    /// The stages that may be recorded as held: by an earlier process, or by this one.
    var recordedHolds: Set<Int> = []
    /// The jobs whose input was found damaged; a second time fails them.
    var damagedInputs: Set<DamagedInput> = []
    /// Why stages are held, as last told.
    var toldReasons: [Int: String] = [:]
    var error: EngineError?

    /// Whether more jobs may start before the finished ones are committed.
    var hasRoom: Bool {
      finished.count < Engine.mostUncommitted
        && finished.reduce(0) { $0 + $1.bytesInMemory } < Engine.mostUncommittedBytes
    }

    /// Whether no job of a stage is under way, and no result of one is yet to be recorded.
    func isIdle(_ stage: Int) -> Bool {
      jobs.stages[stage].isIdle && !finished.contains { $0.stage == stage }
    }

    var activity: Activity {
      if jobs.active > 0 || jobs.waiting > 0 || !finished.isEmpty || isPassDue { return .working }
      return isPassing ? .looking : .idle
    }
  }

  /// What the engine is doing.
  ///
  /// A pass claims jobs until the ledger has no ready ones left, so an idle engine has no work
  /// until `wake`, or has been stopped.
  package enum Activity: Sendable {
    /// Jobs are claimed or running, results are not yet recorded, or a pass is due.
    case working
    /// Only a pass over the ledger is running, which has found no job so far.
    case looking
    /// No pass is running either: nothing happens until `wake`.
    case idle
  }

  let ledger: any Ledger
  let stages: [StageRunner]
  let renditions: any RenditionStore
  let report: any EngineReport
  let originals: any OriginalStore
  let work: WorkFolders
  let state: Mutex<State>
  let shortage: @Sendable () -> String?
  let serial = DispatchQueue(label: "pipeline.engine")
  private let idle = TimedSemaphore()

  /// For how long results gather while there is enough to do.
  private static let gathering = DispatchTimeInterval.milliseconds(30)

  /// The number of uncommitted results at which no more jobs start.
  static let mostUncommitted = 256
  /// The bytes of uncommitted results on their way into the database at which no more jobs start.
  static let mostUncommittedBytes = 64 << 20

  /// Creates an engine and configures the ledger's stages; `wake` starts the work.
  ///
  /// - Parameters:
  ///   - library: the library's folder, which contains `work/`.
  ///   - memoryBudget: the bytes that all running jobs may need together.
  ///   - shortage: returns a sentence that says why there is no room for results; `nil` if there
  ///     is.
  ///   - isStopped: polled while the ledger applies changed stages to existing assets; `true`
  ///     leaves the rest.
  package init(
    _ plan: StagePlan, ledger: any Ledger, originals: any OriginalStore,
    renditions: any RenditionStore, library: Descriptor, memoryBudget: Int,
    report: any EngineReport,
    shortage: @escaping @Sendable () -> String? = { nil }, isStopped: () -> Bool = { false }
  ) throws(EngineError) {
    self.ledger = ledger
    self.shortage = shortage
    self.originals = originals
    self.report = report
    self.renditions = renditions
    do throws(FileError) {
      work = try WorkFolders(in: library)
    } catch {
      throw EngineError(.file, error.message, cause: error)
    }
    let budget = WorkerMemoryBudget(most: ByteSize(bytes: memoryBudget))
    stages = plan.stages.map { [work] in StageRunner($0, work: work.path, budget: budget) }
    let widths = plan.stages.map(\.configuration.concurrency)
    state = Mutex(State(jobs: JobQueue(widths: widths, memoryBudget: memoryBudget)))
    let failed = try inLedger(
      try ledger.configure(plan.stages.map(\.definition), isStopped: isStopped))
    for event in failed { report.job(event) }
    state.withLock { $0.recordedHolds = Set(stages.indices) }
    for (index, stage) in plan.stages.enumerated() {
      guard let fault = stage.fault else { continue }
      state.withLock { $0.jobs.stages[index].isHeld = true }
      tellHeld(index, because: fault.reason)
    }
  }

  /// Announces that the ledger may have ready rows; returns at once.
  package func wake() {
    state.withLock { $0.jobs.forgetExhaustion() }
    schedulePass()
  }

  /// Creates all plugin instances in advance, so that the first jobs need not wait; returns at
  /// once.
  package func warmUp() {
    serial.async { [self] in
      for index in stages.indices {
        let active = state.withLock { $0.jobs.stages[index].active }
        // `claim` reports a plugin that can't be created, once there is work for it.
        try? stages[index].prepare(active: active)
        stages[index].warmUp()
      }
    }
  }

  /// Why the engine can't continue, or `nil`.
  package var failure: EngineError? { state.withLock { $0.error } }

  /// What the engine is doing now.
  package var activity: Activity { state.withLock { $0.activity } }

  /// Waits until the engine is idle, so no row is ready, or `isStopped` returns `true`.
  ///
  /// Must not be called on a Dispatch worker thread.
  ///
  /// - Parameter isStopped: polled on the calling thread.
  /// - Throws: the error that stopped the engine.
  package func drain(isStopped: () -> Bool) throws(EngineError) {
    wake()
    while true {
      _ = idle.wait(for: .milliseconds(50))
      if isStopped() { return }
      if let failure { throw failure }
      if activity == .idle { return }
    }
  }

  /// Starts no more jobs, releases claimed ones, cancels running ones, and waits for them until the
  /// deadline.
  package func stop(deadline: ContinuousClock.Instant) {
    let controls = state.withLock { state in
      state.jobs.isStopped = true
      return state.running.values.map(\.control)
    }
    for control in controls { control.giveUp() }
    // A running pass may still be claiming, so wait for it to finish.
    serial.sync { [self] in
      let waiting = state.withLock { state in
        stages.indices.flatMap { state.jobs.removeWaiting(stage: $0) }
      }
      requeue(waiting)
    }
    schedulePass()
    while ContinuousClock().now < deadline, activity != .idle {
      _ = idle.wait(for: .milliseconds(20))
    }
  }

  /// Ends the workers; called when no job runs or the remaining ones are past their deadline.
  ///
  /// Must not be called on a Dispatch worker thread; takes at most a few seconds.
  package func close() {
    let group = DispatchGroup()
    for stage in stages { stage.end(in: group) }
    // The kernel ends the remaining workers together with this process.
    _ = group.wait(timeout: .now() + .seconds(10))
  }

  /// Tries stages again that are held for something that the machine lacked, as it may be available
  /// by now; returns at once, and `wake` starts their jobs.
  ///
  /// The ledger shows them as held until a job succeeds or fails for another reason: otherwise all their
  /// assets would change twice whenever it is in vain.
  ///
  /// On the serial queue, or a pass that holds a stage again could be overtaken.
  package func releaseHeldStages() {
    serial.async { [self] in
      // A plugin that was unusable when the plan was made needs a new plan.
      for index in stages.indices where stages[index].plan.fault == nil {
        state.withLock { $0.jobs.stages[index].isHeld = false }
      }
    }
  }

  /// Whether a stage is held that `releaseHeldStages` would release.
  package var holdsForAWhile: Bool {
    state.withLock { state in
      stages.indices.contains { state.jobs.stages[$0].isHeld && stages[$0].plan.fault == nil }
    }
  }

  /// The job that has run longest; `nil` if none runs.
  package var longestJob: RunningJob? {
    state.withLock { state in state.running.values.map(\.job).min { $0.since < $1.since } }
  }

  /// Names of stages that are held because the machine lacks something.
  package var heldStages: Set<String> {
    state.withLock { state in
      Set(stages.indices.filter { state.jobs.stages[$0].isHeld }.map { stages[$0].plan.name })
    }
  }

  // MARK: Passes over the ledger

  /// - Parameter gathering: whether it may come somewhat later, so that there are more results by then: a transaction costs
  ///   more than a result does.
  func schedulePass(gathering: Bool = false) {
    let isNew = state.withLock { state in
      if state.isPassDue || gathering && state.isGathering { return false }
      if gathering { state.isGathering = true } else { state.isPassDue = true }
      return true
    }
    guard isNew else { return }
    if gathering {
      serial.asyncAfter(deadline: .now() + Self.gathering) { [self] in
        let isDue = state.withLock { state in
          state.isGathering = false
          return !state.finished.isEmpty
        }
        if isDue { pass() }
      }
    } else {
      serial.async { [self] in pass() }
    }
  }

  /// Commits results, claims as many jobs as fit, and starts those that are admissible.
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
      fail(error)
    }
    begin()
    state.withLock { $0.isPassing = false }
    if activity == .idle || failure != nil { idle.signal() }
  }

  /// Starts no more jobs because of an error.
  func fail(_ error: EngineError) {
    state.withLock { state in
      state.error = error
      state.jobs.isStopped = true
    }
    report.failed()
  }

  /// Finishes a job that never started.
  func finish(_ job: ClaimedJob, stage index: Int, _ result: FinishedJob.Result) {
    state.withLock {
      $0.finished.append(FinishedJob(job: job, stage: index, result: result, seconds: nil))
    }
    schedulePass()
  }

  /// Holds a stage because the machine lacks something it needs. Its jobs wait for the next run,
  /// and no attempt is counted.
  func hold(_ index: Int, _ claimed: [ClaimedJob], because reason: String) throws(EngineError) {
    let tokens = state.withLock { state in
      let waiting = state.jobs.removeWaiting(stage: index)
      state.jobs.stages[index].isHeld = true
      let tokens = Set(waiting + claimed.map(\.token))
      state.finished.removeAll { tokens.contains($0.job.token) }
      return Array(tokens)
    }
    try inLedger(try ledger.requeue(tokens))
    state.withLock { _ = $0.recordedHolds.insert(index) }
    try inLedger(try ledger.hold(stage: stages[index].plan.name, because: reason))
    tellHeld(index, because: reason)
  }

  /// Records that a stage's jobs can run, unless it is held or no job has to.
  func recordRelease(of index: Int) throws(EngineError) {
    let isRecorded = state.withLock { state in
      !state.jobs.stages[index].isHeld && state.recordedHolds.remove(index) != nil
    }
    guard isRecorded else { return }
    state.withLock { $0.toldReasons[index] = nil }
    try inLedger(try ledger.hold(stage: stages[index].plan.name, because: nil))
  }

  private func tellHeld(_ index: Int, because reason: String) {
    let isNew = state.withLock { $0.toldReasons.updateValue(reason, forKey: index) != reason }
    guard isNew else { return }
    let stage = stages[index].plan.configuration
    report.held(stage: stage.name, plugin: stage.plugin, reason: reason)
  }

  func inLedger<Result>(
    _ body: @autoclosure () throws(CatalogError) -> Result
  ) throws(EngineError) -> Result {
    do throws(CatalogError) {
      return try body()
    } catch {
      throw EngineError(ledger: error)
    }
  }
}
