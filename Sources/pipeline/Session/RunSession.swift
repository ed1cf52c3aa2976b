import Catalog
import Configuration
import Engine
import Files
import Glibc
import Ingest
import PipelineModel

/// One execution of `run` or `import`: ingests files and runs all ready jobs concurrently.
struct RunSession {
  private let session: WorkingSession
  private let context: Context
  private let verb: String
  private let start = ContinuousClock().now

  init(_ context: Context, verb: String, _ locked: LockedLibrary) throws {
    self.context = context
    self.verb = verb
    session = try WorkingSession(context, locked)
  }

  /// If some sources are missing but others were ingested, the run itself did not fail.
  private func exitCode(_ refused: [IngestError]) -> ExitCode {
    let isMissing = refused.allSatisfy { $0.code == .source && $0.cause is FileError }
    let sources = session.setup.configuration.sources.count
    return isMissing && refused.count < sources ? .someFailed : .fatal
  }

  /// Waits for the stages and for pending requests.
  private func drain(
    _ engine: Engine, _ control: ControlSocket, _ handler: RequestHandler
  ) throws {
    var failure: IngestError?
    var silence = SilenceNotice()
    repeat {
      try engine.drain {
        silence.look(context.console, session.report, engine)
        do throws(IngestError) { try control.serve(handler) } catch { failure = error }
        return failure != nil || SignalHandler.shared.isStopRequested
      }
      if let failure { throw failure }
      if control.isBusy { usleep(10_000) }
    } while control.isBusy && !SignalHandler.shared.isStopRequested
  }

  /// Runs `taking` while the stages run, then waits for the stages.
  ///
  /// Requests of other processes are served meanwhile, between batches of files.
  ///
  /// - Parameter importing: ingests files; returns errors for refused sources.
  func run(
    _ importing: (Ingest, WorkingSession) throws -> [IngestError]
  ) throws -> ExitCode {
    let library = session.library
    let engine = session.engine
    let report = session.report
    let signals = SignalHandler.shared
    let run = library.ids.next()
    library.run = run
    try library.catalog.beginRun(RunRecord(id: run, verb: verb, startedAt: .now))
    let control = try ControlSocket(in: session.library.folder) {}
    defer { control.close() }
    let handler = RequestHandler(session)
    let backlog = try library.catalog.backlog().values.reduce(0) { sum, states in
      sum + states[.ready, default: 0] + states[.waiting, default: 0]
    }
    let progress = RunProgress(
      report: report, stages: session.plan.stages.count, backlog: backlog)
    let bar = ProgressBar(console: context.console) { progress.line }
    bar.begin()
    defer { bar.end() }
    try RenditionRelocation(engine: engine, plan: session.plan)
      .run(settings: library.catalog) { signals.isStopRequested }
    report.afterCommit { engine.wake() }
    engine.wake()
    var refused: [IngestError] = []
    do {
      let interleaved = InterleavedWork(isDue: { control.hasRequests }) { () throws(IngestError) in
        try control.serve(handler)
      }
      let ingest = Ingest(into: library, report: report, interleaved: interleaved) {
        signals.isStopRequested
      }
      refused = try importing(ingest, session)
      try drain(engine, control, handler)
    } catch {
      engine.stop(deadline: ContinuousClock().now + .seconds(8))
      engine.close()
      throw error
    }
    control.close()
    report.forget()
    if signals.isStopRequested { engine.stop(deadline: ContinuousClock().now + .seconds(8)) }
    engine.close()
    try library.catalog.endRun(run, counters: report.counts.counters, at: .now)
    try library.close()
    bar.end()
    for error in refused { Failure(error).print(on: context.console) }
    RunSummary(counts: report.counts, run: run, took: ContinuousClock().now - start)
      .print(on: context.console)
    if let code = signals.exitCode { return code }
    if !refused.isEmpty { return exitCode(refused) }
    return report.counts.hasFailures ? .someFailed : .success
  }
}
