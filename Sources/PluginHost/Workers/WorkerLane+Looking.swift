import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// Checks of a worker and their consequences. They run on watchdog threads, while the lane's queue
/// receives the worker's messages.
extension WorkerLane {
  /// A snapshot of a worker and the answer it owed at that moment.
  private struct Look {
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
  func watchClosely() {
    // Inside the lock, so that no check of the idle worker sets a longer interval afterwards.
    state.withLock { state in
      state.idleProcessorSeconds = nil
      timer.start(every: JobWatch.interval)
      filesTimer.start(every: JobWatch.filesInterval)
    }
  }

  func look() {
    guard let look = state.withLock({ Look($0) }) else { return timer.stop() }
    if let killAt = look.killAt, look.now >= killAt { look.worker.signal(SIGKILL) }
    let usage = look.worker.usage()
    note(usage?.memoryBytes ?? 0, isIdle: look.expected == nil)
    // A worker that was asked to end but takes what others need is killed at once.
    if look.killAt != nil, usage.flatMap(limits.verdict) != nil { look.worker.signal(SIGKILL) }
    if let closedAt = look.closedAt, look.now - closedAt > .seconds(care.closing) {
      return lookAtClosed(look)
    }
    switch look.expected {
    case .result: lookAtJob(look, usage)
    case nil: lookAtIdle(look, usage)
    case .estimates:
      if look.time > .seconds(care.patience) || usage.flatMap(limits.verdict) != nil {
        conclude(look, Self.leave)
      }
    case .manifest, .created: lookAtSetUp(look, usage)
    }
  }

  func lookAtFiles() {
    guard let look = state.withLock({ Look($0) }) else { return filesTimer.stop() }
    guard let folder = state.withLock({ $0.folder }) else { return }
    let failure: PluginFailure?
    do throws(FileError) {
      failure = try limits.verdict(
        on: folder, namelessBytes: try look.worker.namelessBytes(besides: folder))
    } catch {
      // A folder that changes while it is read is checked again next time. While the worker is
      // idle, there is no reason for it to change.
      guard look.expected == nil else { return }
      return conclude(look) { $0.isLeaving = true }
    }
    guard let failure else { return }
    switch look.expected {
    case .result: end(look, JobWatch.Verdict(failure: failure))
    case .estimates, nil: conclude(look, Self.leave)
    case .manifest, .created: failSetUp(look, because: failure)
    }
  }

  /// Ends a worker without a job; a job that is about to reach it goes to another worker.
  private static func leave(_ state: inout State) {
    state.isJobInnocent = true
    state.isLeaving = true
  }

  private func lookAtJob(_ look: Look, _ usage: ProcessUsage?) {
    beginWatch(processorSeconds: usage?.processorSeconds ?? 0)
    guard let watch = state.withLock({ $0.job?.watch }) else { return }
    if let verdict = watch.verdict(on: usage) { end(look, verdict) }
  }

  /// Ends the worker; the job it is running fails.
  private func end(_ look: Look, _ verdict: JobWatch.Verdict) {
    let killAt = verdict.isUrgent ? nil : look.now + .seconds(care.grace)
    conclude(look, by: verdict.isUrgent ? SIGKILL : SIGTERM) { state in
      state.job?.verdict = verdict.failure
      state.killAt = killAt
    }
  }

  /// Reports the worker's memory use to the pool.
  func note(_ memoryBytes: Int, isIdle: Bool) {
    guard let pool = site.pool, let number = state.withLock({ $0.numberInPool }) else { return }
    pool.note(number, bytes: memoryBytes, isIdle: isIdle)
  }

  /// Ends the worker because all workers together use too much memory.
  func endForOthers(used: ByteSize) {
    guard let look = state.withLock({ Look($0) }), let most = site.pool?.most else { return }
    let text =
      "It was ended: all workers together used \(used) of memory, and may use \(most) "
      + "(memoryBudget); this one used the most."
    conclude(look) { state in
      if state.job == nil { return Self.leave(&state) }
      state.job?.verdict = PluginFailure(.transient, text)
      state.isLeaving = true
    }
  }

  private func lookAtSetUp(_ look: Look, _ usage: ProcessUsage?) {
    if look.time > .seconds(care.patience) {
      let id = carrier.manifest.id
      let text = "The plugin \(id) gave no answer for \(care.patience) seconds."
      fail(look, PluginFailure(.environment, text))
    } else if let failure = usage.flatMap(limits.verdict) {
      failSetUp(look, because: failure)
    }
  }

  private func failSetUp(_ look: Look, because failure: PluginFailure) {
    let text = "The plugin \(carrier.manifest.id) exceeded a limit during setup. \(failure.reason)"
    fail(look, PluginFailure(.environment, text))
  }

  private func fail(_ look: Look, _ failure: PluginFailure) {
    conclude(look) { state in
      state.failure = state.failure ?? failure
      state.job?.verdict = failure
      state.isLeaving = true
    }
  }

  /// Ends a worker that can no longer answer: it runs, but has closed its standard output.
  private func lookAtClosed(_ look: Look) {
    let text =
      "It was ended: it closed its output, and could give no answer however long it may take."
    switch look.expected {
    case .result:
      end(look, JobWatch.Verdict(failure: PluginFailure(.transient, text), isUrgent: true))
    case .manifest, .created: failSetUp(look, because: PluginFailure(.environment, text))
    case .estimates, nil: conclude(look, Self.leave)
    }
  }

  /// Ends an idle worker that keeps working or has been idle for long.
  private func lookAtIdle(_ look: Look, _ usage: ProcessUsage?) {
    let before = state.withLock { $0.idleProcessorSeconds }
    // Cleaning up after a job takes a moment; unsolicited work continues.
    let worked = (usage?.processorSeconds ?? 0) - (before ?? usage?.processorSeconds ?? 0)
    let isTooMuch = worked > care.idleInterval / 4 || usage.flatMap(limits.verdict) != nil
    if isTooMuch || look.time > .seconds(care.mostIdleTime) {
      return conclude(look, Self.leave)
    }
    // Check less often the longer it lasts: watching an idle worker has no measurable cost.
    let seconds = Double(look.time.components.seconds)
    let interval = min(max(care.idleInterval, seconds), care.mostIdleInterval)
    state.withLock { state in
      // By now it may have a job or have been asked to end.
      guard state.number == look.number, state.expectedSince == look.since,
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
    _ look: Look, by signal: Int32 = SIGKILL, _ change: (inout State) -> Void
  ) {
    let isSame = state.withLock { state in
      guard state.number == look.number, state.expectedSince == look.since, !state.isLeaving,
        state.job?.verdict == nil
      else { return false }
      change(&state)
      return true
    }
    if isSame { look.worker.signal(signal) }
  }
}
