import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// The answers of an instance's worker, and its end.
extension WorkerInstance {
  func handle(_ event: WorkerProcess.Event, of number: Int) {
    guard state.withLock({ $0.number == number }) else { return }
    switch event {
    case .message(let message): handle(message)
    case .log(let line): log(.info, line)
    case .malformed(let what): handleMalformed(what)
    // Usually the worker is about to end, which is reported next.
    case .closed: state.withLock { $0.outputClosedAt = ContinuousClock().now }
    case .ended(let ending): ended(ending)
    }
  }

  func handle(_ message: PluginMessage) {
    switch message {
    case .log(let level, let text): return log(level, text)
    case .progress(let fraction): return state.withLock { $0.job?.control }?.report(fraction) ?? ()
    // Messages from a worker that is being ended no longer count; only its end does.
    case _ where state.withLock({ $0.isLeaving || $0.job?.verdict != nil }): return
    default: break
    }
    let expected = state.withLock { state -> Expected? in
      state.expectedSince = ContinuousClock().now
      return state.expected.isEmpty ? nil : state.expected.removeFirst()
    }
    switch (expected, message) {
    case (.manifest?, .manifest(HostMessage.currentProtocol, let manifest))
    where manifest == backend.manifest:
      return
    case (.manifest?, .manifest):
      fail(
        PluginFailure(
          .environment,
          "The plugin \(backend.manifest.id) has changed since this program started: restart the "
            + "program."))
    case (.created?, .created):
      beginMonitoring(
        processorSeconds: state.withLock { $0.worker }?.usage()?.processorSeconds ?? 0)
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
      endOver("that nobody asked for", insteadOf: expected)
    }
  }

  private func handleMalformed(_ what: String) {
    let (isLeaving, expected) = state.withLock { ($0.isLeaving, $0.expected.first) }
    if !isLeaving { endOver(what, insteadOf: expected) }
  }

  /// Ends a worker that violates the protocol; a job is blamed only for its own result.
  private func endOver(_ what: String, insteadOf expected: Expected?) {
    let failure = malformedAnswer(what)
    switch expected {
    case .manifest?, .created?: fail(PluginFailure(.environment, failure.reason))
    case .estimates?: retireOverQuestion()
    case .result?, nil: breakOff(failure)
    }
  }

  func log(_ level: PluginHost.LogLevel, _ text: String) {
    let control = state.withLock { state -> JobControl? in
      state.lastLog = text
      guard state.job?.log.spend(text) == true else { return nil }
      return state.job?.control
    }
    control?.write(level, text)
  }

  /// Starts measuring a job, once the plugin is set up.
  func beginMonitoring(processorSeconds: Double) {
    state.withLock { state in
      guard state.job?.monitor == nil else { return }
      state.job?.monitor = JobMonitor(limits, processorSeconds: processorSeconds)
    }
  }

  /// Kills a worker; the job it is running fails.
  private func breakOff(_ failure: PluginFailure) {
    let worker = state.withLock { state in
      if state.job?.verdict == nil { state.job?.verdict = failure }
      state.isLeaving = state.worker != nil
      return state.worker
    }
    worker?.signal(SIGKILL)
  }

  /// Ends a worker because the machine lacks something it needs.
  func fail(_ failure: PluginFailure) {
    state.withLock { $0.failure = $0.failure ?? failure }
    breakOff(failure)
  }

  func ended(_ ending: ChildProcess.ExitStatus) {
    timer.stop()
    filesTimer.stop()
    note(0, isIdle: true)
    let (expected, job, failure, last, onEnd, worker) = state.withLock { state in
      defer {
        state.worker = nil
        state.isLeaving = false
        state.expected = []
        state.onEnd = []
      }
      return (
        state.expected, state.job, state.failure, state.lastLog, state.onEnd,
        state.worker
      )
    }
    for answer in expected {
      if case .estimates(let count, let completion) = answer {
        completion(Array(repeating: nil, count: count))
      }
    }
    var isInnocent = state.withLock { state in
      defer { state.isJobInnocent = false }
      return state.isJobInnocent
    }
    if case .estimates? = expected.first { isInnocent = true }
    if let job, isInnocent, job.verdict == nil, failure == nil {
      requeue(job)
    } else if job != nil {
      let isSetUp = !expected.contains { if case .created = $0 { true } else { false } }
      let ofMemory =
        worker?.ranOutOfMemory == true ? limits.memoryFailure(isSetUp: isSetUp) : nil
      // A worker that was refused a fork may end before anyone samples it.
      let ofForks =
        isSetUp ? worker.flatMap { limits.verdict(on: $0.addingRefused(to: .init())) } : nil
      finish(
        .failed(
          failure ?? ofMemory ?? ofForks
            ?? program.failure(
              ending, isSetUp: isSetUp, outputBytes: limits.outputBytes, log: last)))
    }
    if !onEnd.isEmpty { removeFolder() }
    for body in onEnd { body() }
    for job in removeWaitingJobs() { begin(job) }
  }

  /// Requeues a job that this worker never reached.
  private func requeue(_ job: Job) {
    let folder = state.withLock { state in
      state.job = nil
      state.waiting.insert(job, at: 0)
      return state.folder
    }
    // Clean-up: if something stays, placing the original fails, which is reported.
    try? folder?.empty()
  }

  func removeWaitingJobs() -> [Job] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }
}
