import Catalog
package import Configuration
import Engine
import Files
import Glibc
package import Ingest
import PipelineModel
import Records

/// One execution of `run` or `import`: imports files and runs all ready jobs concurrently.
package struct RunSession {
  private let session: WorkingSession
  private let verb: String
  private let start = ContinuousClock().now

  /// - Parameter verb: the name under which the run is recorded.
  package init(
    _ place: SessionPlace, verb: String, output: any SessionOutput,
    signals: SignalHandler = .shared
  ) throws {
    self.verb = verb
    session = try WorkingSession(place, output: output, signals: signals)
  }

  /// Whether some sources are missing but others were imported, so that the run did not fail.
  private func isPartial(_ refused: [IngestError]) -> Bool {
    let isMissing = refused.allSatisfy { $0.code == .source && $0.cause != nil }
    return isMissing && refused.count < session.setup.configuration.sources.count
  }

  /// Waits for the stages and for pending requests.
  private func drain(_ engine: Engine, _ control: ControlSocket, _ handler: RequestHandler) throws {
    func serve() throws {
      try control.serve(handler)
      try session.requests?.serve(handler)
    }
    var failure: (any Error)?
    var silence = SilenceNotice()
    while true {
      try engine.drain {
        silence.look(session.report, engine)
        do { try serve() } catch { failure = error }
        return failure != nil || session.signals.isStopRequested
      }
      if let failure { throw failure }
      if session.signals.isStopRequested { return }
      if control.isBusy {
        usleep(10_000)
      } else if let job = try remoteJob(engine) {
        silence.look(session.report, job)
        try pause(control, serve)
      } else {
        return
      }
    }
  }

  /// What other processes still do for this library; `nil` if nothing.
  private func remoteJob(_ engine: Engine) throws -> RemoteWork? {
    let catalog = session.library.catalog
    guard catalog.isOnServer else { return nil }
    // What one leaves that is gone runs until somebody notices.
    let names =
      try catalog.hasCompany()
      ? session.workable : []
    if try catalog.isQuiet(dueIn: names) { return nil }
    return RemoteWork(longest: try catalog.remoteJobs().first)
  }

  /// Waits a moment for other processes.
  private func pause(_ control: ControlSocket, _ serve: () throws -> Void) throws {
    session.requests?.hear()
    let end = ContinuousClock.now + .milliseconds(500)
    while ContinuousClock.now < end, !control.isBusy, !session.signals.isStopRequested {
      try serve()
      usleep(20_000)
    }
  }

  /// Runs `importing` while the stages run, then waits for the stages.
  ///
  /// Requests of other processes are served meanwhile, between batches of files.
  ///
  /// - Parameter importing: imports files, given the sources; returns errors for refused ones.
  package func run(
    _ importing: (Ingest, [SourceConfiguration]) throws -> [IngestError]
  ) throws -> RunResult {
    do {
      return try perform(importing)
    } catch {
      session.engine.close()
      session.giveUp()
      throw error
    }
  }

  private func perform(
    _ importing: (Ingest, [SourceConfiguration]) throws -> [IngestError]
  ) throws -> RunResult {
    let library = session.library
    let engine = session.engine
    let report = session.report
    let signals = session.signals
    let run = library.ids.next()
    library.run = run
    let mark = try library.catalog.attemptMark()
    try library.catalog.beginRun(RunRecord(id: run, verb: verb, startedAt: .now))
    let control = try ControlSocket(in: session.library.openControlFolder()) {}
    defer { control.close() }
    let handler = RequestHandler(session)
    let backlog = try library.catalog.backlog().values.reduce(0) { sum, states in
      sum + states[.ready, default: 0] + states[.waiting, default: 0]
    }
    let endProgress = report.output.show(
      .run(stages: session.plan.stages.count, backlog: backlog), of: report)
    defer { endProgress() }
    if session.own != nil {
      try RenditionRelocation(engine: engine, plan: session.plan)
        .run(settings: library.catalog) { signals.isStopRequested }
    }
    report.listen { engine.wake() }
    engine.wake()
    var refused: [IngestError] = []
    do {
      let requests = session.requests
      let interleaved = InterleavedWork(
        isDue: { control.hasRequests || requests?.mayHaveRequests ?? false }
      ) {
        try control.serve(handler)
        try requests?.serve(handler)
      }
      let ingest = Ingest(into: library, report: report, interleaved: interleaved) {
        signals.isStopRequested
      }
      refused = try importing(ingest, session.setup.configuration.sources)
      try drain(engine, control, handler)
    } catch {
      engine.stop(deadline: ContinuousClock().now + .seconds(8))
      throw error
    }
    control.close()
    report.forget()
    if signals.isStopRequested { engine.stop(deadline: ContinuousClock().now + .seconds(8)) }
    engine.close()
    report.add(try library.catalog.remoteOutcomes(since: mark))
    var counters = report.counts.counters
    counters["sourcesRefused"] = refused.count
    try library.catalog.endRun(run, counters: counters, at: .now)
    try library.close()
    return RunResult(
      run: run, counts: report.counts, took: ContinuousClock().now - start, refused: refused,
      isPartial: isPartial(refused))
  }
}

/// What other processes do for a library.
struct RemoteWork {
  /// The job that takes longest; `nil` if they are between two.
  let longest: RemoteJob?
}

/// Says what a session waits for after a long silence.
struct SilenceNotice {
  /// How long a silence may last.
  static let patience = Duration.seconds(30)

  private var toldAt: ContinuousClock.Instant

  init(at start: ContinuousClock.Instant = ContinuousClock().now) { toldAt = start }

  /// Shows the notice if it is due.
  mutating func look(_ report: RunReport, _ engine: Engine) {
    let now = ContinuousClock().now
    if let text = text(at: now, lastEvent: report.lastEventAt, waitingFor: engine.longestJob) {
      report.output.waiting(text)
    }
  }

  /// Shows the notice about another process's job if it is due.
  mutating func look(_ report: RunReport, _ work: RemoteWork) {
    let now = ContinuousClock().now
    let text = text(
      at: now, lastEvent: report.lastEventAt, waitingFor: work.longest, time: .now)
    if let text { report.output.waiting(text) }
  }

  /// The notice about another process's job; `nil` if it is not due.
  mutating func text(
    at now: ContinuousClock.Instant, lastEvent: ContinuousClock.Instant?,
    waitingFor job: RemoteJob?, time: Timestamp
  ) -> String? {
    guard now - max(lastEvent ?? toldAt, toldAt) >= Self.patience, let job else { return nil }
    toldAt = now
    // The clock of that machine may be ahead.
    let seconds = max(0, time.microseconds - job.since.microseconds) / 1_000_000
    return "Waiting for the stage “\(job.stage)” on “\(job.name.printable)”, on which the machine "
      + "\(job.node) has been at work for \(seconds) s."
  }

  /// The notice; `nil` if it is not due.
  mutating func text(
    at now: ContinuousClock.Instant, lastEvent: ContinuousClock.Instant?,
    waitingFor job: RunningJob?
  ) -> String? {
    let last = max(lastEvent ?? toldAt, toldAt)
    guard now - last >= Self.patience, let job, now - job.since >= Self.patience else { return nil }
    toldAt = now
    let seconds = (now - job.since).components.seconds
    return "Waiting for the stage “\(job.stage)” on “\(job.name.printable)”, which has taken "
      + "\(seconds) s and may take \(job.limit)."
  }
}
