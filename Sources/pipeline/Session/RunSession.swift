import Catalog
import Engine
import Ingest
import PipelineModel

/// One execution of `run` or `import`: takes files and runs all ready jobs side by side.
struct RunSession {
  private let session: WorkingSession
  private let context: Context
  private let verb: String
  private let start = ContinuousClock().now

  init(_ context: Context, verb: String, makesLibrary: Bool) throws {
    self.context = context
    self.verb = verb
    Interruption.shared.listen()
    session = try WorkingSession(context, makesLibrary: makesLibrary)
  }

  /// Runs `taking` while the stages run, then waits for the stages.
  ///
  /// - Parameter taking: takes files; returns sources that were refused.
  func run(
    _ taking: (Ingest, WorkingSession) throws -> [IngestError]
  ) throws -> ExitCode {
    let library = session.library
    let engine = session.engine
    let report = session.report
    let interruption = Interruption.shared
    let run = library.ids.next()
    library.run = run
    try library.catalog.beginRun(RunRecord(id: run, verb: verb, startedAt: .now))
    let backlog = try library.catalog.backlog().values.reduce(0) { sum, states in
      sum + states[.ready, default: 0] + states[.waiting, default: 0]
    }
    let bar = ProgressBar(
      console: context.console, report: report, stages: session.plan.stages.count,
      backlog: backlog)
    bar.begin()
    defer { bar.end() }
    try RenditionRelocation(engine: engine, plan: session.plan).run(settings: library.catalog)
    report.afterCommit { engine.wake() }
    engine.wake()
    var refused: [IngestError] = []
    do {
      let ingest = Ingest(into: library, report: report) { interruption.isRequested }
      refused = try taking(ingest, session)
      try engine.drain { interruption.isRequested }
    } catch {
      engine.stop(deadline: ContinuousClock().now + .seconds(8))
      throw error
    }
    if interruption.isRequested { engine.stop(deadline: ContinuousClock().now + .seconds(8)) }
    try library.catalog.endRun(run, counters: report.counts.counters, at: .now)
    try library.close()
    bar.end()
    for error in refused { Failure(error).print(on: context.console) }
    summarize(run)
    if let code = interruption.exitCode { return code }
    if !refused.isEmpty { return .fatal }
    return report.counts.hasFailures ? .someFailed : .success
  }

  private func summarize(_ run: AssetID) {
    let counts = session.report.counts
    let seconds = (ContinuousClock().now - start) / .seconds(1)
    let console = context.console
    if console.isJSON {
      var members = counts.counters.mapValues { JSONValue.integer($0) }
      members["run"] = .string(run.description)
      members["seconds"] = .number((seconds * 1000).rounded() / 1000)
      return console.event("summary", members)
    }
    guard console.isTerminal || console.isVerbose else { return }
    var parts = ["\(counts[.imported]) imported"]
    if counts[.duplicate] > 0 { parts.append(counted(counts[.duplicate], "duplicate")) }
    let others: [(Int, String)] = [
      (counts[.settling], "settling"), (counts[.rejected], "rejected"),
      (counts[Sighting.State.failed], "failed"),
      (counts[.gone], "gone"),
    ]
    parts += others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let jobs: [(Int, String)] = [
      (counts[.done], "done"), (counts[.skipped], "skipped"),
      (counts[JobEvent.Outcome.failed], "failed"),
    ]
    parts += jobs.filter { $0.0 > 0 }.map { "\(counted($0.0, "job")) \($0.1)" }
    let tenths = (seconds * 10).rounded() / 10
    console.message(parts.joined(separator: ", ") + " in \(tenths) s")
  }
}
