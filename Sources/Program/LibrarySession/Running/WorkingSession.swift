import Catalog
import Configuration
import Engine
import Files
import Ingest
import PipelineModel
import PluginHost
import Records

/// A library opened for changes, with its stages ready to run.
struct WorkingSession {
  let setup: LibrarySetup
  let plan: StagePlan
  let library: IngestLibrary
  let engine: Engine
  let report: RunReport
  let signals: SignalHandler

  /// Opens and recovers a locked library and loads the stages.
  init(_ locked: LockedLibrary, output: any SessionOutput, signals: SignalHandler) throws {
    self.signals = signals
    setup = locked.library.setup
    plan = locked.library.plan
    report = RunReport(output)
    library = try IngestLibrary(
      locked.library.found, lock: locked.lock, reserve: setup.reserve(), report: report
    ) { signals.isStopRequested }
    try library.catalog.configureGroups(GroupPolicy(setup.configuration.groups))
    try Self.tellPreparation(of: library.catalog, report.output)
    engine = try Engine(
      plan, ledger: library.catalog, originals: library.originals,
      renditions: library.renditions, library: library.folder,
      memoryBudget: setup.configuration.memoryBudget.bytes, report: report,
      shortage: { [setup] in setup.shortage() }
    ) {
      Heartbeat.shared.beat()
      return signals.isStopRequested
    }
    listenForOthers()
    try tellLimits()
    if let fault = WorkerControlGroups.shared.fault {
      report.warning(
        "Workers have no control groups, so only periodic checks limit their memory: "
          + fault.message)
    }
  }

  /// Tells of other processes that work on the library, and does what those leave that are gone.
  private func listenForOthers() {
    library.catalog.listen { [report, engine] news in
      report.hear(news)
      if case .overtaken = news { return }
      engine.wake()
    }
  }

  /// Says that a catalog from an older version is prepared for searches, if that takes seconds.
  private static func tellPreparation(
    of catalog: Catalog, _ output: any SessionOutput
  ) throws(CatalogError) {
    let assets = try catalog.assetsToPrepare
    guard assets > 20_000 else { return }
    output.waiting("Preparing \(assets) assets for searches; an interruption does no harm.")
  }

  /// Warns about limits that can't be enforced, once per library and again for each new one. It
  /// warns only if somebody reads that, because cron mails all output.
  ///
  /// Reported limits stay recorded, so that a service with control groups and a terminal without
  /// them don't cause repeated warnings.
  private func tellLimits() throws {
    guard report.output.showsNotices else { return }
    let key = "limits.missing"
    let missing = LimitEnforcement.missing
    let known = try library.catalog.setting(key)?.split(separator: "\n").map(String.init) ?? []
    let new = missing.filter { !known.contains($0) }
    if new.isEmpty { return }
    report.warning(
      "Not all limits of stages can be enforced here. \(missing.joined(separator: " ")) "
        + "See `pipeline doctor`.")
    try library.catalog.set(key, to: (known + new).joined(separator: "\n"))
  }
}
