package import Catalog
import Configuration
import Dispatch
import Files
package import Originals
package import PipelineModel
import PipelinePlugin
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
  private struct State {
    var admission: Admission
    var finished: [FinishedJob] = []
    /// Whether a pass over the ledger is due already.
    var isPassDue = false
    /// The controls of running jobs, to cancel them by.
    var controls: [AttemptToken: JobControl] = [:]
    var error: EngineError?
  }

  let ledger: any Ledger
  let lanes: [StageLanes]
  let renditions: RenditionStore
  let report: any EngineReport
  private let originals: any OriginalStore
  private let work: WorkFolders
  private let state: Mutex<State>
  private let serial = DispatchQueue(label: "pipeline.engine")
  private let idle = DispatchSemaphore(value: 0)

  /// Results that wait for the serial queue before no more jobs begin.
  private static let mostUncommitted = 256

  /// Makes an engine; `start` begins the work.
  ///
  /// - Parameters:
  ///   - library: the library's folder, which has `renditions/` and `work/`.
  ///   - memoryBudget: the bytes that all running jobs may need together.
  package init(
    _ plan: StagePlan, ledger: any Ledger, originals: any OriginalStore, library: BytePath,
    memoryBudget: Int, report: any EngineReport
  ) throws(EngineError) {
    self.ledger = ledger
    self.originals = originals
    self.report = report
    lanes = plan.stages.map { StageLanes($0) }
    do throws(FileError) {
      renditions = try RenditionStore(library: library)
      work = try WorkFolders(library.appending("work"))
    } catch {
      throw EngineError(.file, error.message, path: error.path, cause: error)
    }
    let widths = plan.stages.map(\.configuration.concurrency)
    state = Mutex(State(admission: Admission(widths: widths, memoryBudget: memoryBudget)))
    do throws(CatalogError) {
      try ledger.configure(plan.stages.map(\.definition))
    } catch {
      throw EngineError(.ledger, error.message, path: error.path, cause: error)
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

  /// Waits until no row is ready and no job runs, or `isStopped` says so.
  ///
  /// Called on a thread that is no Dispatch worker.
  ///
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
    let (waiting, controls) = state.withLock { state in
      state.admission.isStopped = true
      var tokens: [AttemptToken] = []
      for index in state.admission.stages.indices {
        tokens += state.admission.stages[index].waiting.map(\.job.token)
        state.admission.stages[index].waiting = []
      }
      return (tokens, Array(state.controls.values))
    }
    for control in controls { control.cancel() }
    serial.sync { [self] in
      do throws(CatalogError) {
        try ledger.giveBack(waiting)
      } catch {
        report.warning(error.message)
      }
    }
    schedulePass()
    while ContinuousClock().now < deadline, !isQuiet {
      _ = idle.wait(timeout: .now() + .milliseconds(20))
    }
  }

  private var isIdle: Bool {
    state.withLock { state in
      state.admission.active == 0 && state.admission.waiting == 0 && state.finished.isEmpty
        && !state.isPassDue && state.admission.stages.allSatisfy { $0.isExhausted || $0.isHeld }
    }
  }

  private var isQuiet: Bool {
    state.withLock {
      $0.admission.active == 0 && $0.finished.isEmpty && !$0.isPassDue
    }
  }

  // MARK: Passes over the ledger

  private func schedulePass() {
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
    }
    begin()
    if isIdle || state.withLock({ $0.error != nil }) || isQuiet { idle.signal() }
  }

  private func claim() throws(EngineError) {
    for index in lanes.indices {
      let room = state.withLock { state in
        let stage = state.admission.stages[index]
        guard !state.admission.isStopped, !stage.isExhausted, !stage.isHeld else { return 0 }
        // Two rounds ahead, so that no lane waits for the ledger.
        let wanted = stage.width * 4
        return stage.waiting.count <= wanted / 2 ? wanted - stage.waiting.count : 0
      }
      if room > 0 { try claim(upTo: room, stage: index, suspects: false) }
    }
  }

  /// Claims one suspect when nothing else is left to do.
  private func claimSuspects() throws(EngineError) {
    guard isIdle, !state.withLock({ $0.admission.isStopped }) else { return }
    for index in lanes.indices where !state.withLock({ $0.admission.stages[index].isHeld }) {
      try claim(upTo: 1, stage: index, suspects: true)
      if state.withLock({ $0.admission.waiting }) > 0 { return }
    }
  }

  private func claim(upTo limit: Int, stage index: Int, suspects: Bool) throws(EngineError) {
    let stage = lanes[index]
    let claimed = try inLedger { () throws(CatalogError) in
      try ledger.claim(stage: stage.plan.name, limit: limit, suspects: suspects)
    }
    if claimed.count < limit {
      state.withLock { $0.admission.stages[index].isExhausted = true }
    }
    guard !claimed.isEmpty else { return }
    do throws(PluginFailure) {
      let active = state.withLock { $0.admission.stages[index].active }
      try stage.prepare(active: active)
      for job in claimed { try queue(job, stage: index) }
    } catch {
      try hold(index, claimed, because: error)
    }
  }

  /// Lets a job wait for its turn, or ends it if it may not begin at all.
  private func queue(_ job: ClaimedJob, stage index: Int) throws(PluginFailure) {
    let stage = lanes[index]
    let facts = aliased(job.facts)
    let identity = facts[StagePlan.identifier]
    let mediaType = MediaType(rawValue: identity?["mediaType"]?.string ?? "")
    if stage.plan.carrier.manifest.accepts != nil, !stage.plan.accepts(mediaType) {
      let reason =
        "The plugin \(stage.plan.configuration.plugin) does not work on "
        + "\(mediaType.rawValue.isEmpty ? "files of an unknown type" : mediaType.rawValue)."
      return finish(job, stage: index, .skipped(reason: reason))
    }
    let memory = try stage.memory(facts: facts)
    let limits = JobLimits(limits: stage.plan.configuration.limits)
    if let refusal = limits.refusal(of: job, identity: identity, memory: memory) {
      return finish(job, stage: index, .failed(refusal))
    }
    state.withLock {
      $0.admission.stages[index].waiting.append(.init(job: job, memory: memory))
    }
  }

  /// Ends a job that never began.
  private func finish(_ job: ClaimedJob, stage index: Int, _ result: FinishedJob.Result) {
    state.withLock {
      $0.finished.append(FinishedJob(job: job, stage: index, result: result, seconds: 0))
    }
    schedulePass()
  }

  /// Keeps a stage from running because the machine lacks something that it needs.
  private func hold(
    _ index: Int, _ claimed: [ClaimedJob], because failure: PluginFailure
  ) throws(EngineError) {
    state.withLock { state in
      state.admission.stages[index].isHeld = true
      state.admission.stages[index].waiting = []
      let tokens = Set(claimed.map(\.token))
      state.finished.removeAll { tokens.contains($0.job.token) }
    }
    try inLedger { () throws(CatalogError) in try ledger.giveBack(claimed.map(\.token)) }
    reportHold(index, failure.reason)
  }

  private func reportHold(_ index: Int, _ reason: String) {
    let stage = lanes[index].plan
    report.held(stage: stage.name, reason: reason)
  }

  // MARK: Jobs

  /// Begins every job that may begin now; called on any queue.
  private func begin() {
    let admitted = state.withLock { state in
      state.finished.count < Self.mostUncommitted ? state.admission.admit() : []
    }
    for (index, waiting) in admitted {
      lanes[index].queue.async { [self] in run(waiting, stage: index) }
    }
  }

  private func run(_ waiting: Admission.Waiting, stage index: Int) {
    let stage = lanes[index]
    let start = ContinuousClock().now
    let name = stage.plan.name
    let control = JobControl { [report] _, message in report.log(stage: name, message: message) }
    guard let lane = stage.take() else {
      let failure = PluginFailure(.environment, "No instance of the plugin is free.")
      return end(waiting, stage: index, .failed(failure), since: start)
    }
    do throws(FileError) {
      let output = try work.make(for: waiting.job.token)
      let input = try originals.materialize(waiting.job.digest)
      state.withLock { $0.controls[waiting.job.token] = control }
      let timeout = Timeout(stage.plan.configuration.limits.time, control: control)
      lane.process(
        request(waiting.job, stage: stage, input: input, output: output.path), job: control
      ) { [self] result in
        timeout.cancel()
        state.withLock { $0.controls[waiting.job.token] = nil }
        stage.giveBack(lane)
        let outcome = collect(result, of: waiting.job, from: output, stage: stage, timeout)
        end(waiting, stage: index, outcome, since: start)
      }
    } catch {
      stage.giveBack(lane)
      let failure = PluginFailure(error.code == .notFound ? .permanent : .transient, error.message)
      end(waiting, stage: index, .failed(failure), since: start)
    }
  }

  private func end(
    _ waiting: Admission.Waiting, stage index: Int, _ result: FinishedJob.Result,
    since start: ContinuousClock.Instant
  ) {
    let took = (ContinuousClock().now - start) / .seconds(1)
    state.withLock { state in
      state.admission.end(waiting, stage: index)
      state.finished.append(
        FinishedJob(job: waiting.job, stage: index, result: result, seconds: took))
    }
    begin()
    schedulePass()
  }

  private func request(
    _ job: ClaimedJob, stage: StageLanes, input: BytePath, output: BytePath
  ) -> PluginRequest {
    PluginRequest(
      job: "\(job.token.rawValue)",
      asset: .init(
        id: job.asset, name: job.name.description, digest: job.digest, size: job.size),
      input: input.description, output: output.description,
      options: stage.plan.configuration.options, facts: aliased(job.facts),
      deadline: stage.plan.configuration.limits.time?.seconds)
  }

  /// The facts with those of the identifying stage under the plugin's own name
  /// as well, so that a plugin finds them whatever the stage is called.
  private func aliased(_ facts: [String: JSONValue]) -> [String: JSONValue] {
    var facts = facts
    for stage in lanes where stage.plan.configuration.plugin == StagePlan.identifier {
      if let found = facts[stage.plan.name] { facts[StagePlan.identifier] = found }
    }
    return facts
  }

  private func collect(
    _ result: PluginResult, of job: ClaimedJob, from output: Descriptor, stage: StageLanes,
    _ timeout: Timeout
  ) -> FinishedJob.Result {
    switch result {
    case .failed(let failure):
      return .failed(timeout.failure ?? failure)
    case .skipped(let reason):
      return .skipped(reason: reason)
    case .done(let facts, let made):
      do throws(FileError) {
        var collected: [CollectedRendition] = []
        for rendition in made {
          collected.append(
            try renditions.collect(
              rendition, from: output, for: job, storage: stage.plan.configuration.storage))
        }
        let limits = JobLimits(limits: stage.plan.configuration.limits)
        if let refusal = limits.refusal(of: collected) { return .failed(refusal) }
        return .done(facts: facts, renditions: collected)
      } catch {
        let isTransient = [.noSpace, .ioError, .tooManyOpen].contains(error.code)
        return .failed(
          PluginFailure(
            isTransient ? .transient : .permanent,
            "What the plugin made is unusable: \(error.message)"))
      }
    }
  }

  // MARK: Commits

  private func commit(_ finished: [FinishedJob]) throws(EngineError) {
    guard !finished.isEmpty else { return }
    let outcomes = try store(finished)
    var completions: [Completion] = []
    for (job, outcome) in zip(finished, outcomes) {
      completions.append(
        Completion(token: job.job.token, outcome: outcome, seconds: job.seconds))
    }
    let unused = try inLedger { () throws(CatalogError) in try ledger.complete(completions) }
    do throws(FileError) {
      try renditions.remove(unused)
      for job in finished { try work.remove(job.job.token) }
    } catch {
      // What is left behind is found by `verify`, or emptied at the next start.
      report.warning(error.message)
    }
    state.withLock { state in
      // Needed rows are done, so dependents may be ready.
      for index in state.admission.stages.indices {
        state.admission.stages[index].isExhausted = false
      }
    }
    for (job, outcome) in zip(finished, outcomes) { tell(job, outcome) }
  }

  private func store(_ finished: [FinishedJob]) throws(EngineError) -> [Completion.Outcome] {
    var outcomes: [Completion.Outcome] = []
    for job in finished {
      switch job.result {
      case .skipped(let reason):
        outcomes.append(.skipped(reason: reason))
      case .failed(let failure):
        outcomes.append(outcome(failure, of: job))
      case .done(let facts, let collected):
        do throws(FileError) {
          let stored = try renditions.store([(job.job, collected)])
          outcomes.append(.done(facts: facts, renditions: stored.flatMap(\.self)))
        } catch {
          outcomes.append(outcome(PluginFailure(.transient, error.message), of: job))
        }
      }
    }
    return outcomes
  }

  private func outcome(_ failure: PluginFailure, of job: FinishedJob) -> Completion.Outcome {
    var retryAt: Timestamp?
    switch failure.class {
    case .permanent:
      break
    case .transient:
      let most = lanes[job.stage].plan.configuration.attempts
      if job.job.attempt < most {
        let delay = 30.0 * Double(1 << min(2 * (job.job.attempt - 1), 16))
        retryAt = Timestamp.now.adding(seconds: delay)
      }
    case .environment:
      // The machine is to blame, not the file: the stage waits for the next run.
      retryAt = Timestamp.now
      state.withLock { $0.admission.stages[job.stage].isHeld = true }
    }
    return .failed(class: failure.class.rawValue, reason: failure.reason, retryAt: retryAt)
  }

  private func tell(_ job: FinishedJob, _ outcome: Completion.Outcome) {
    var event = JobEvent(
      asset: job.job.asset, name: job.job.name, stage: job.job.stage, outcome: .done,
      seconds: job.seconds)
    switch outcome {
    case .done:
      break
    case .skipped(let reason):
      event.outcome = .skipped
      event.reason = reason
    case .failed(let failureClass, let reason, _):
      event.outcome = .failed
      event.failureClass = failureClass
      event.reason = reason
    }
    report.job(event)
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
