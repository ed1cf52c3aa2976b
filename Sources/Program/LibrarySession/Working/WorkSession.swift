import Catalog
import Configuration
import Engine
import Files
import Glibc
import Ingest
import PipelineModel
import PluginHost
import Records

/// `work` with one configuration, while its database can be reached: runs jobs of a library beside the process that has its lock.
final class WorkSession {
  private let setup: LibrarySetup
  private let plan: StagePlan
  private let catalog: Catalog
  private let engine: Engine
  private let report: RunReport
  private let signals: SignalHandler
  // Its lock is held for as long.
  private let workplace: Workplace
  private let stages: OwnStages

  /// Signalled when others may have made jobs ready.
  private let news = TimedSemaphore()

  /// How often to look for due jobs while there are none and nobody tells of any.
  private static let pause = Duration.seconds(30)
  /// How often to look whether others still work.
  private static let idlePause = Duration.seconds(1)
  /// How often to try held stages again.
  private static let recheck = Duration.seconds(60)
  /// How long jobs may take to finish.
  private static let patience = Duration.seconds(8)

  init(_ setup: LibrarySetup, report: RunReport, signals: SignalHandler) throws {
    self.setup = setup
    self.report = report
    self.signals = signals
    let place = setup.layout.catalogPlace
    let library = try Catalog.requireLibraryID(of: place)
    plan = try setup.planBeside()
    workplace = try Workplace(setup.layout, library: library) { signals.isStopRequested }
    catalog = try Catalog.openBeside(place, libraryID: library)
    stages = OwnStages(plan, catalog: catalog, workplace: workplace, report: report)
    do {
      engine = try setup.makeEngine(
        plan, ledger: LedgerBeside(catalog: catalog), originals: workplace.originals,
        renditions: workplace.renditions, folder: workplace.folder, report: report)
    } catch {
      // Why it could not be used is what counts.
      try? catalog.close()
      throw error
    }
  }

  /// How a session ends.
  enum Outcome {
    /// With the work: by a signal, or because no job is ready or running.
    case end
    /// Because it was asked for by `nodes drain`.
    case drained
    /// With another session, for a new configuration, or a plugin that can be used now.
    case another
  }

  func run(untilIdle: Bool) throws -> Outcome {
    defer { stop() }
    if let absence = try workplace.requireOriginals(of: catalog) { report.warning(absence) }
    try stages.compare()
    // Not before, as the engine claims jobs once it is woken.
    catalog.listen { [report, engine, news] event in
      report.hear(event)
      if case .overtaken = event { return }
      engine.wake()
      news.signal()
    }
    return try work(untilIdle: untilIdle)
  }

  private func work(untilIdle: Bool) throws -> Outcome {
    var recheckAt = ContinuousClock.now + Self.recheck
    var silence = SilenceNotice()
    while true {
      try engine.drain {
        silence.look(report, engine)
        return signals.isStopRequested || signals.isReloadRequested
      }
      if signals.isStopRequested { return .end }
      // What it had begun has ended.
      if try catalog.isDraining { return .drained }
      if signals.isReloadRequested { return .another }
      if untilIdle, try catalog.isQuiet(dueIn: stages.workable(engine)) { return .end }
      if ContinuousClock.now >= recheckAt {
        recheckAt = ContinuousClock.now + Self.recheck
        let finder = PluginFinder(configured: setup.configuration.plugins)
        if plan.stages.contains(where: { $0.fault != nil }),
          plan.isMended(setup.configuration, finder: finder)
        {
          return .another
        }
        engine.releaseHeldStages()
      }
      try stages.compareAgain()
      try rest(
        until: untilIdle ? .now + Self.idlePause : engine.heldStages.isEmpty ? nil : recheckAt)
    }
  }

  /// Waits until others tell of jobs, some are due, or this process is to do something else.
  ///
  /// - Parameter end: when to return anyway.
  private func rest(until end: ContinuousClock.Instant?) throws {
    var pollAt = ContinuousClock.now + Self.pause
    while end.map({ .now < $0 }) ?? true, !signals.isStopRequested, !signals.isReloadRequested {
      if let failure = engine.failure { throw failure }
      if news.wait(for: .milliseconds(50)) {
        // Several may have told.
        while news.wait(for: .zero) {}
        return
      }
      if try catalog.isDraining { return }
      guard ContinuousClock.now >= pollAt else { continue }
      if try catalog.mayHaveJobs(in: stages.workable(engine)) { return }
      pollAt = ContinuousClock.now + Self.pause
    }
  }

  private func stop() {
    // Without the database, others find out by themselves.
    if signals.isStopRequested { try? catalog.drain() }
    engine.stop(deadline: ContinuousClock.now + Self.patience)
    engine.close()
    try? catalog.close()
  }
}
