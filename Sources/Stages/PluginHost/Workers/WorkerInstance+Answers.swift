import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// The answers of an instance's worker, and its end.
extension WorkerInstance {
  func handle(_ event: WorkerProcess.Event, of number: Int) {
    let current = shared.withLock { $0.workerNumber == number ? $0.worker : nil }
    guard let worker = current else { return }
    switch event {
    case .message(.log(let level, let text)): log(level, text)
    case .message(.progress(let fraction)):
      shared.withLock { $0.state.job?.control }?.report(fraction)
    case .message(.limit(let seconds)): shared.withLock { $0.state.limit(cpu: seconds) }
    case .message(let message): receive(message, from: worker)
    case .log(let line): log(.info, line)
    case .malformed(let what): apply { $0.violate(what) }
    // Usually the worker is about to end, which is reported next.
    case .closed: shared.withLock { $0.state.outputClosed() }
    case .ended(let status, let ranOutOfMemory):
      ended(worker, status, ranOutOfMemory: ranOutOfMemory)
    }
    advance()
  }

  private func log(_ level: PluginHost.LogLevel, _ text: String) {
    shared.withLock { $0.state.log(text) }?.log(level, text)
  }

  private func receive(_ message: PluginMessage, from worker: WorkerProcess) {
    // Whatever was refused until now was refused to the request that this answers.
    let refusal = worker.refusal()
    let reaction = shared.withLock { shared in
      refusal.flatMap { shared.state.exceed($0) }.map { .signal($0) }
        ?? shared.state.receive(message)
    }
    switch reaction {
    case .complete(let question, let bytes?): question.completion(bytes)
    case .complete(let question, nil): question.giveUp()
    case .finish(let job, let result): finish(job, result, by: worker)
    case .signal(let number): worker.signal(number)
    case nil: break
    }
  }

  // MARK: Results

  private func finish(_ job: WorkerState.Job, _ result: PluginResult, by worker: WorkerProcess) {
    job.completion(checked(result, of: job, by: worker))
    if !emptyFolder() || isWornOut(worker) { apply { $0.leave() } }
  }

  /// Checks a result and moves its files to the job's output folder.
  private func checked(
    _ result: PluginResult, of job: WorkerState.Job, by worker: WorkerProcess
  ) -> PluginResult {
    if let fault = ResultCheck.fault(in: result) {
      return .failed(shared.withLock { $0.state.malformedAnswer("in which \(fault)") })
    }
    guard let folder = shared.withLock({ $0.folder }) else { return result }
    do throws(FileError) {
      if let failure = try finalCheck(of: worker, at: folder, isSure: result.hasRenditions) {
        // Files that it keeps open would count for the next job as well.
        apply { $0.leave() }
        return .failed(failure)
      }
      return try folder.move(result, to: BytePath(job.request.output))
    } catch {
      return .failed(ResultCheck.failure(becauseOf: error))
    }
  }

  /// Checks the files that a job made or left open, in case it was faster than the periodic checks.
  ///
  /// - Parameter isSure: whether to check even if that was just done.
  private func finalCheck(
    of worker: WorkerProcess, at folder: WorkerFolder, isSure: Bool
  ) throws(FileError) -> PluginFailure? {
    let now = ContinuousClock().now
    let isDue = shared.withLock { shared in
      guard isSure || now - shared.filesCheckedAt >= .seconds(Watchdog.interval) else {
        return false
      }
      shared.filesCheckedAt = now
      return true
    }
    return isDue ? try limits.verdict(on: folder, of: worker) : nil
  }

  /// Whether the next job needs another worker.
  private func isWornOut(_ worker: WorkerProcess) -> Bool {
    if shared.withLock({ $0.state.jobsDone }) >= policy.mostJobs { return true }
    guard let usage = worker.usage() else { return false }
    // The next job must not meet processes that this one left behind.
    return usage.memoryBytes > policy.mostIdleMemory || limits.processes > 1 && usage.processes > 1
  }

  // MARK: The end

  private func ended(
    _ worker: WorkerProcess, _ status: ChildProcess.ExitStatus, ranOutOfMemory: Bool
  ) {
    context.budget?.note(number, bytes: 0, isIdle: true)
    let remains = shared.withLock { shared in
      shared.worker = nil
      return shared.state.ended()
    }
    let isSetUp = remains.isSetUp
    let ofMemory = ranOutOfMemory ? limits.memoryFailure(isSetUp: isSetUp) : nil
    // A worker that was refused a fork may end before anyone samples it.
    let ofForks = isSetUp ? worker.refusal() : nil
    fail(
      remains,
      because: ofMemory ?? ofForks
        ?? program.failure(
          status, isSetUp: isSetUp, outputBytes: limits.outputBytes, log: remains.lastLog))
    if remains.onEnd.isEmpty { emptyFolder() } else { removeFolder() }
    for body in remains.onEnd { body() }
  }

  /// Completes the requests of a worker that ended, without an answer.
  func fail(_ remains: WorkerState.Remains, because failure: PluginFailure) {
    for question in remains.questions { question.giveUp() }
    for job in remains.jobs { job.completion(.failed(remains.failure ?? failure)) }
  }
}

extension PluginResult {
  fileprivate var hasRenditions: Bool {
    guard case .done(_, let renditions) = self else { return false }
    return !renditions.isEmpty
  }
}

/// Checks of an instance's worker. They run on watchdog threads, while the queue receives the
/// worker's messages.
extension WorkerInstance {
  /// Checks the worker often from now on.
  func checkOften() {
    timer.start(after: Watchdog.interval) { [weak self] in self?.check() }
    filesTimer.start(after: Watchdog.filesInterval) { [weak self] in self?.checkFiles() }
  }

  /// Checks the worker's processes.
  ///
  /// - Returns: the seconds until the next check; `nil` if there is no worker, as for `checkFiles`.
  func check() -> Double? {
    let (worker, turn, isIdle) = shared.withLock { ($0.worker, $0.state.turn, $0.state.isIdle) }
    guard let worker else { return nil }
    let usage = worker.usage()
    context.budget?.note(number, bytes: usage?.memoryBytes ?? 0, isIdle: isIdle)
    return follow(worker, busy: Watchdog.interval) { $0.check(usage, in: turn) }
  }

  /// Checks the files that the worker made.
  func checkFiles() -> Double? {
    let (worker, folder, turn) = shared.withLock { ($0.worker, $0.folder, $0.state.turn) }
    guard let worker else { return nil }
    guard let folder else { return Watchdog.filesInterval }
    let found = Result { () throws(FileError) in try limits.verdict(on: folder, of: worker) }
    return follow(worker, busy: Watchdog.filesInterval) { $0.check(found, in: turn) }
  }

  /// Applies a check, and returns the seconds until the next.
  private func follow(
    _ worker: WorkerProcess, busy: Double, _ check: (inout WorkerState) -> Int32?
  ) -> Double {
    let (signal, seconds) = shared.withLock { shared in
      (check(&shared.state), shared.state.interval(busy: busy))
    }
    if let signal { worker.signal(signal) }
    return seconds
  }

  /// Ends the worker because all workers together use too much memory.
  func endForOthers(used: ByteSize) {
    guard let most = context.budget?.most else { return }
    let text =
      "It was ended: all workers together used \(used) of memory, and may use \(most) "
      + "(memoryBudget); this one used the most."
    apply { $0.leave(because: PluginFailure(.transient, text)) }
  }
}
