import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// Checks of a worker and their consequences. They run on watchdog threads, while the instance's
/// queue receives the worker's messages.
extension WorkerInstance {
  /// A snapshot of a worker and the answer it owed at that moment.
  private struct Snapshot {
    let worker: WorkerProcess
    let number: Int
    let expected: Expected?
    let since: ContinuousClock.Instant
    let now = ContinuousClock().now
    let killAt: ContinuousClock.Instant?
    let closedAt: ContinuousClock.Instant?

    init?(_ state: State) {
      guard let worker = state.worker else { return nil }
      self.worker = worker
      number = state.number
      expected = state.expected.first
      since = state.expectedSince
      killAt = state.killAt
      closedAt = state.outputClosedAt
    }

    /// How long the worker has owed an answer or been idle.
    var time: Duration { now - since }
  }

  /// Checks the worker often from now on.
  func monitorClosely() {
    // Inside the lock, so that no check of the idle worker sets a longer interval afterwards.
    state.withLock { state in
      state.idleProcessorSeconds = nil
      timer.start(every: JobMonitor.interval)
      filesTimer.start(every: JobMonitor.filesInterval)
    }
  }

  func check() {
    guard let snapshot = state.withLock({ Snapshot($0) }) else { return timer.stop() }
    if let killAt = snapshot.killAt, snapshot.now >= killAt { snapshot.worker.signal(SIGKILL) }
    let usage = snapshot.worker.usage()
    note(usage?.memoryBytes ?? 0, isIdle: snapshot.expected == nil)
    // A worker that was asked to end but takes what others need is killed at once.
    if snapshot.killAt != nil, usage.flatMap(limits.verdict) != nil {
      snapshot.worker.signal(SIGKILL)
    }
    if let closedAt = snapshot.closedAt, snapshot.now - closedAt > .seconds(policy.closing) {
      return checkClosed(snapshot)
    }
    switch snapshot.expected {
    case .result: checkJob(snapshot, usage)
    case nil: checkIdle(snapshot, usage)
    case .estimates:
      if snapshot.time > .seconds(policy.patience) || usage.flatMap(limits.verdict) != nil {
        conclude(snapshot, Self.leave)
      }
    case .manifest, .created: checkSetUp(snapshot, usage)
    }
  }

  func checkFiles() {
    guard let snapshot = state.withLock({ Snapshot($0) }) else { return filesTimer.stop() }
    guard let folder = state.withLock({ $0.folder }) else { return }
    let failure: PluginFailure?
    do throws(FileError) {
      failure = try limits.verdict(
        on: folder, unlinkedBytes: try snapshot.worker.unlinkedBytes(besides: folder))
    } catch {
      // A folder that changes while it is read is checked again next time. While the worker is
      // idle, there is no reason for it to change.
      guard snapshot.expected == nil else { return }
      return conclude(snapshot) { $0.isLeaving = true }
    }
    guard let failure else { return }
    switch snapshot.expected {
    case .result: end(snapshot, JobMonitor.Verdict(failure: failure))
    case .estimates, nil: conclude(snapshot, Self.leave)
    case .manifest, .created: failSetUp(snapshot, because: failure)
    }
  }

  /// Ends a worker without a job; a job that is about to reach it goes to another worker.
  private static func leave(_ state: inout State) {
    state.isJobInnocent = true
    state.isLeaving = true
  }

  private func checkJob(_ snapshot: Snapshot, _ usage: ProcessUsage?) {
    beginMonitoring(processorSeconds: usage?.processorSeconds ?? 0)
    guard let monitor = state.withLock({ $0.job?.monitor }) else { return }
    if let verdict = monitor.verdict(on: usage) { end(snapshot, verdict) }
  }

  /// Ends the worker; the job it is running fails.
  private func end(_ snapshot: Snapshot, _ verdict: JobMonitor.Verdict) {
    let killAt = verdict.isUrgent ? nil : snapshot.now + .seconds(policy.grace)
    conclude(snapshot, by: verdict.isUrgent ? SIGKILL : SIGTERM) { state in
      state.job?.verdict = verdict.failure
      state.killAt = killAt
    }
  }

  /// Reports the worker's memory use to the pool.
  func note(_ memoryBytes: Int, isIdle: Bool) {
    guard let budget = context.budget, let number = state.withLock({ $0.numberInBudget }) else {
      return
    }
    budget.note(number, bytes: memoryBytes, isIdle: isIdle)
  }

  /// Ends the worker because all workers together use too much memory.
  func endForOthers(used: ByteSize) {
    guard let snapshot = state.withLock({ Snapshot($0) }), let most = context.budget?.most else {
      return
    }
    let text =
      "It was ended: all workers together used \(used) of memory, and may use \(most) "
      + "(memoryBudget); this one used the most."
    conclude(snapshot) { state in
      if state.job == nil { return Self.leave(&state) }
      state.job?.verdict = PluginFailure(.transient, text)
      state.isLeaving = true
    }
  }

  private func checkSetUp(_ snapshot: Snapshot, _ usage: ProcessUsage?) {
    if snapshot.time > .seconds(policy.patience) {
      let id = backend.manifest.id
      let text = "The plugin \(id) gave no answer for \(policy.patience) seconds."
      fail(snapshot, PluginFailure(.environment, text))
    } else if let failure = usage.flatMap(limits.verdict) {
      failSetUp(snapshot, because: failure)
    }
  }

  private func failSetUp(_ snapshot: Snapshot, because failure: PluginFailure) {
    let text = "The plugin \(backend.manifest.id) exceeded a limit during setup. \(failure.reason)"
    fail(snapshot, PluginFailure(.environment, text))
  }

  private func fail(_ snapshot: Snapshot, _ failure: PluginFailure) {
    conclude(snapshot) { state in
      state.failure = state.failure ?? failure
      state.job?.verdict = failure
      state.isLeaving = true
    }
  }

  /// Ends a worker that can no longer answer: it runs, but has closed its standard output.
  private func checkClosed(_ snapshot: Snapshot) {
    let text =
      "It was ended: it closed its output, and could give no answer however long it may take."
    switch snapshot.expected {
    case .result:
      end(snapshot, JobMonitor.Verdict(failure: PluginFailure(.transient, text), isUrgent: true))
    case .manifest, .created: failSetUp(snapshot, because: PluginFailure(.environment, text))
    case .estimates, nil: conclude(snapshot, Self.leave)
    }
  }

  /// Ends an idle worker that keeps working or has been idle for long.
  private func checkIdle(_ snapshot: Snapshot, _ usage: ProcessUsage?) {
    let before = state.withLock { $0.idleProcessorSeconds }
    // Cleaning up after a job takes a moment; unsolicited work continues.
    let worked = (usage?.processorSeconds ?? 0) - (before ?? usage?.processorSeconds ?? 0)
    let isTooMuch = worked > policy.idleInterval / 4 || usage.flatMap(limits.verdict) != nil
    if isTooMuch || snapshot.time > .seconds(policy.mostIdleTime) {
      return conclude(snapshot, Self.leave)
    }
    // Check less often the longer it lasts: watching an idle worker has no measurable cost.
    let seconds = Double(snapshot.time.components.seconds)
    let interval = min(max(policy.idleInterval, seconds), policy.mostIdleInterval)
    state.withLock { state in
      // By now it may have a job or have been asked to end.
      guard state.number == snapshot.number, state.expectedSince == snapshot.since,
        state.expected.isEmpty, state.killAt == nil
      else { return }
      state.idleProcessorSeconds = usage?.processorSeconds
      timer.start(every: interval)
      filesTimer.start(every: interval)
    }
  }

  /// Applies a change and sends a signal, unless the worker has answered since the snapshot or is
  /// already being ended.
  private func conclude(
    _ snapshot: Snapshot, by signal: Int32 = SIGKILL, _ change: (inout State) -> Void
  ) {
    let isSame = state.withLock { state in
      guard state.number == snapshot.number, state.expectedSince == snapshot.since,
        !state.isLeaving,
        state.job?.verdict == nil
      else { return false }
      change(&state)
      return true
    }
    if isSame { snapshot.worker.signal(signal) }
  }
}
