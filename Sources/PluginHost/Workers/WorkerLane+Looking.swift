import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// What is seen of a worker, and what becomes of it: on the threads of watchdogs, while its messages
/// are taken on the lane's queue.
extension WorkerLane {
  /// A look at a worker, and what it was to answer at that moment.
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

    /// How long the answer has been waited for, or nothing to do.
    var time: Duration { now - since }
  }

  /// Looks often from now on.
  func watchClosely() {
    // Within the lock, so that no look at what was idle until now comes behind it.
    state.withLock { state in
      state.idleProcessorSeconds = nil
      timer.start(every: JobWatch.interval)
      filesTimer.start(every: JobWatch.filesInterval)
    }
  }

  /// Looks at the processes and the clock.
  func look() {
    guard let look = state.withLock({ Look($0) }) else { return timer.stop() }
    if let killAt = look.killAt, look.now >= killAt { look.worker.signal(SIGKILL) }
    let usage = look.worker.usage()
    note(usage?.memoryBytes ?? 0, isIdle: look.expected == nil)
    // Who was asked to end, and takes what others need meanwhile, is not waited for.
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

  /// Looks at the files.
  func lookAtFiles() {
    guard let look = state.withLock({ Look($0) }) else { return filesTimer.stop() }
    guard let folder = state.withLock({ $0.folder }) else { return }
    let failure: PluginFailure?
    do throws(FileError) {
      failure = try limits.verdict(
        on: folder, namelessBytes: try look.worker.namelessBytes(besides: folder))
    } catch {
      // A folder that changes while it is read is looked at again the next time; while nobody
      // works in it it has no reason to change.
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

  /// A worker that has no job ends; one that is about to be given to it is given to another.
  private static func leave(_ state: inout State) {
    state.isJobInnocent = true
    state.isLeaving = true
  }

  private func lookAtJob(_ look: Look, _ usage: ProcessUsage?) {
    beginWatch(processorSeconds: usage?.processorSeconds ?? 0)
    guard let watch = state.withLock({ $0.job?.watch }) else { return }
    if let verdict = watch.verdict(on: usage) { end(look, verdict) }
  }

  /// Ends the worker; the job that it works on fails.
  private func end(_ look: Look, _ verdict: JobWatch.Verdict) {
    let killAt = verdict.isUrgent ? nil : look.now + .seconds(care.grace)
    conclude(look, by: verdict.isUrgent ? SIGKILL : SIGTERM) { state in
      state.job?.verdict = verdict.failure
      state.killAt = killAt
    }
  }

  /// Says what the worker uses to who knows of all workers.
  func note(_ memoryBytes: Int, isIdle: Bool) {
    guard let pool = site.pool, let number = state.withLock({ $0.numberInPool }) else { return }
    pool.note(number, bytes: memoryBytes, isIdle: isIdle)
  }

  /// Ends the worker because all together use too much.
  func endForOthers(used: ByteSize) {
    guard let look = state.withLock({ Look($0) }), let most = site.pool?.most else { return }
    let text =
      "It was ended: all workers together used \(used) of memory, and may use \(most) "
      + "(memoryBudget); this one used most."
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
    let text = "The plugin \(carrier.manifest.id) takes too much to be set up. \(failure.reason)"
    fail(look, PluginFailure(.environment, text))
  }

  private func fail(_ look: Look, _ failure: PluginFailure) {
    conclude(look) { state in
      state.failure = state.failure ?? failure
      state.job?.verdict = failure
      state.isLeaving = true
    }
  }

  /// Ends a worker that can't answer any more: it is there, and has closed its standard output.
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

  /// Ends an idle worker that is not idle, or has been for long.
  private func lookAtIdle(_ look: Look, _ usage: ProcessUsage?) {
    let before = state.withLock { $0.idleProcessorSeconds }
    // To tidy up after a job takes a moment; work that nobody asked for goes on.
    let worked = (usage?.processorSeconds ?? 0) - (before ?? usage?.processorSeconds ?? 0)
    let isTooMuch = worked > care.idleInterval / 4 || usage.flatMap(limits.verdict) != nil
    if isTooMuch || look.time > .seconds(care.mostIdleTime) {
      return conclude(look, Self.leave)
    }
    // Seldom, the longer it lasts: an idle watch costs nothing that could be measured.
    let seconds = Double(look.time.components.seconds)
    let interval = min(max(care.idleInterval, seconds), care.mostIdleInterval)
    state.withLock { state in
      // Meanwhile it may have got something to do, or been asked to end.
      guard state.number == look.number, state.expectedSince == look.since,
        state.expected.isEmpty, state.killAt == nil
      else { return }
      state.idleProcessorSeconds = usage?.processorSeconds
      timer.start(every: interval)
      filesTimer.start(every: interval)
    }
  }

  /// Does something to the worker that was looked at, unless it has answered meanwhile or is on
  /// its way out.
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
