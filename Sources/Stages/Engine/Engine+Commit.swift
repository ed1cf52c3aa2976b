import Configuration
import Files
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Renditions
import Synchronization

/// Commits finished jobs in groups, then reports them.
extension Engine {
  func commit(_ all: [FinishedJob]) throws(EngineError) {
    let (finished, completions) = try store(requeueGivenUp(all))
    guard !finished.isEmpty else { return }
    let outcomes = completions.map(\.outcome)
    let unused = try inLedger(try ledger.complete(completions))
    let withdrawn = try inLedger(try ledger.withdrawn(among: completions.map(\.token)))
    // `verify` finds leftover files, and the next start empties `work/`.
    for path in unused { warnIfFailing(try renditions.remove(path)) }
    for job in finished { warnIfFailing(try work.remove(job.job.token)) }
    // Prerequisites are done now, so dependents may be ready.
    state.withLock { $0.jobs.forgetExhaustion() }
    for (job, outcome) in zip(finished, outcomes) where !withdrawn.contains(job.job.token) {
      tell(job, outcome)
    }
    try holdStages(after: Array(zip(finished, outcomes)))
  }

  /// Returns cancelled jobs to the ready state, as if they had never started, and jobs whose input is
  /// damaged, which then wait until it is made again.
  ///
  /// - Returns: the other jobs.
  private func requeueGivenUp(_ finished: [FinishedJob]) throws(EngineError) -> [FinishedJob] {
    var tokens: [AttemptToken] = []
    var others: [FinishedJob] = []
    for job in finished {
      switch job.result {
      case .givenUp: tokens.append(job.job.token)
      case .inputDamaged:
        try remakeInput(of: job.job)
        tokens.append(job.job.token)
      case .done, .skipped, .failed, .noRoom: others.append(job)
      }
    }
    guard !tokens.isEmpty else { return finished }
    try inLedger(try ledger.requeue(tokens))
    for token in tokens { warnIfFailing(try work.remove(token)) }
    return others
  }

  private func remakeInput(of job: ClaimedJob) throws(EngineError) {
    guard let input = job.input else { return }
    try inLedger(try ledger.invalidate(rendition: input.id))
    state.withLock { $0.jobs.forgetExhaustion() }
    report.warning(
      "The rendition \(quoted(input.reference.description)) of “\(job.name.printable)” is damaged or "
        + "missing, so it is made again.")
  }

  /// Reports a file error as a warning; nothing depends on that file.
  private func warnIfFailing(_ body: @autoclosure () throws(FileError) -> Void) {
    do throws(FileError) { try body() } catch { report.warning(error.message) }
  }

  /// Holds the stages for which the machine lacks something, and records that the others can run.
  private func holdStages(
    after finished: [(job: FinishedJob, outcome: Completion.Outcome)]
  ) throws(EngineError) {
    for (job, outcome) in finished {
      guard case .failed(PluginFailure.Class.environment.rawValue, let reason, _) = outcome,
        !state.withLock({ $0.jobs.stages[job.stage].isHeld })
      else { continue }
      try hold(job.stage, [], because: reason)
    }
    // Only a job that reached the plugin shows that it can run.
    for index in Set(finished.filter { $0.job.seconds != nil }.map(\.job.stage)) {
      try recordRelease(of: index)
    }
  }

  /// Stores what jobs have made.
  ///
  /// - Returns: those that have ended, and how. The others were given back, because the program is ending.
  private func store(
    _ all: [FinishedJob]
  ) throws(EngineError) -> ([FinishedJob], [Completion]) {
    var finished: [FinishedJob] = []
    var stopped: [FinishedJob] = []
    var completions: [Completion] = []
    for (job, kept) in zip(all, keep(all)) {
      if case .done = job.result, case .failure(let error) = kept, error.code == .stopped {
        stopped.append(job)
        continue
      }
      finished.append(job)
      let outcome: Completion.Outcome
      var isByLimit = job.isByLimit
      switch (job.result, kept) {
      case (.done(let facts, _, _), .success(let renditions)):
        outcome = .done(facts: facts, renditions: renditions)
      case (.done, .failure(let error)):
        try invalidateKept(of: job, after: error)
        // A store that is away is no fault of the file.
        let kind = error.code == .unavailable ? PluginFailure.Class.environment : .transient
        outcome = self.outcome(PluginFailure(kind, error.message), of: job)
        // This machine has no place for them.
        isByLimit = error.code == .unsupported
      case (.skipped(let reason, let kind), _):
        outcome = .skipped(reason: reason, class: kind?.rawValue)
      case (.failed(let failure), _):
        outcome = self.outcome(failure, of: job)
      case (.noRoom(let reason), _):
        // Others may have room. The stage waits here, and this job is not tried here again.
        isByLimit = ledger.isBesideOthers
        outcome = self.outcome(
          PluginFailure(isByLimit ? .environment : .transient, reason), of: job)
      case (.givenUp, _), (.inputDamaged, _):
        // `requeueGivenUp` has already dealt with these.
        continue
      }
      completions.append(
        Completion(
          token: job.job.token, outcome: outcome, seconds: job.seconds ?? 0, isByLimit: isByLimit))
    }
    if !stopped.isEmpty {
      try inLedger(try ledger.requeue(stopped.map(\.job.token)))
      for job in stopped { warnIfFailing(try work.remove(job.job.token)) }
    }
    return (finished, completions)
  }

  /// Makes a group's renditions durable together. If that fails, retries job by job to find out
  /// which ones can't be stored.
  private func keep(_ finished: [FinishedJob]) -> [Result<[NewRendition], FileError>] {
    do throws(FileError) {
      let stored = try renditions.store(finished, perAttempt: ledger.isOnServer)
      return stored.map { .success($0) }
    } catch  where [.unavailable, .stopped].contains(error.code) {
      // The others need no store.
      return finished.map { job in job.isToBeStored ? .failure(error) : storeAlone(job) }
    } catch {
      // One after the other, each may find room.
    }
    return finished.map { storeAlone($0) }
  }

  private func storeAlone(_ job: FinishedJob) -> Result<[NewRendition], FileError> {
    Result { () throws(FileError) in
      try renditions.store([job], perAttempt: ledger.isOnServer).flatMap(\.self)
    }
  }

  /// Has everything made again by the next attempt, if a copy showed that what was to be kept is
  /// damaged.
  ///
  /// Without reading a whole file, the next attempt finds by itself what is missing or too short.
  private func invalidateKept(
    of job: FinishedJob, after error: FileError
  ) throws(EngineError) {
    guard error.code == .changed else { return }
    for kept in job.kept {
      guard case .stored(let path) = kept.content,
        !renditions.isWhole(path, digest: kept.record.digest)
      else { continue }
      try inLedger(try ledger.invalidate(rendition: kept.record.id))
    }
  }

  private func outcome(_ failure: PluginFailure, of job: FinishedJob) -> Completion.Outcome {
    var retryAt: Timestamp?
    switch failure.class {
    case .permanent:
      break
    case .transient:
      let most = stages[job.stage].plan.configuration.attempts
      if job.job.attempt < most {
        let delay = 30.0 * Double(1 << min(2 * (job.job.attempt - 1), 16))
        retryAt = Timestamp.now.adding(seconds: delay)
      }
    case .environment:
      // The machine is at fault, not the file: the stage waits for the next run.
      retryAt = Timestamp.now
    }
    return .failed(class: failure.class.rawValue, reason: failure.reason, retryAt: retryAt)
  }

  private func tell(_ job: FinishedJob, _ outcome: Completion.Outcome) {
    var event = JobEvent(
      asset: job.job.asset, name: job.job.name, stage: job.job.stage, outcome: .done,
      seconds: job.seconds ?? 0)
    switch outcome {
    case .done:
      break
    case .skipped(let reason, _):
      event.outcome = .skipped
      event.reason = reason
    case .failed(let failureClass, let reason, _):
      event.outcome = .failed
      event.failureClass = failureClass
      event.reason = reason
    }
    report.job(event)
  }
}

/// A job that has ended, not yet recorded in the ledger.
struct FinishedJob: Sendable {
  enum Result: Sendable {
    case done(facts: JSONValue, renditions: [CollectedRendition], kept: [KeptRendition])
    case skipped(reason: String, class: PluginFailure.Class? = nil)
    case failed(PluginFailure)
    /// This machine can have no copy of its original, which is too large.
    case noRoom(reason: String)
    /// Cancelled because the program is ending; the job is not at fault.
    case givenUp
    /// The rendition that it works on is damaged or missing.
    case inputDamaged
  }

  let job: ClaimedJob
  let stage: Int
  let result: Result
  /// How long it took; `nil` if its plugin was not asked.
  let seconds: Double?

  /// Whether it failed by a limit of its stage.
  var isByLimit: Bool {
    if case .failed(let failure) = result { failure.isByLimit } else { false }
  }

  /// The job's new renditions; empty unless it is done.
  var renditions: [CollectedRendition] {
    if case .done(_, let renditions, _) = result { renditions } else { [] }
  }

  /// How many bytes of renditions it holds.
  var bytesInMemory: Int {
    renditions.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
      + kept.reduce(0) { $0 + ($1.isInMemory ? $1.record.bytes : 0) }
  }

  /// The renditions that it keeps; empty unless it is done.
  var kept: [KeptRendition] {
    if case .done(_, _, let kept) = result { kept } else { [] }
  }
}
