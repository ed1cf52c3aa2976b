import Catalog
import Configuration
import Engine
import Files
import Ingest
import PipelineModel
import PluginHost

/// A library opened for changes, with its stages ready to run.
struct WorkingSession {
  let setup: LibrarySetup
  let plan: StagePlan
  let library: IngestLibrary
  let engine: Engine
  let report: RunReport

  /// Opens and recovers a locked library and loads the stages.
  init(_ context: Context, _ locked: LockedLibrary) throws {
    setup = locked.setup
    plan = locked.plan
    report = RunReport(console: context.console, missing: Self.missingAnswer(context))
    library = try IngestLibrary(
      locked.found, lock: locked.lock, reserve: setup.reserve(), report: report
    ) { SignalHandler.shared.isStopRequested }
    engine = try Engine(
      plan, ledger: library.catalog, originals: library.originals,
      library: library.folder,
      memoryBudget: setup.configuration.memoryBudget.bytes, report: report,
      shortage: { [setup] in setup.shortage() }
    ) {
      Heartbeat.shared.beat()
      return SignalHandler.shared.isStopRequested
    }
    try tellLimits(context.console)
    if let fault = WorkerControlGroups.shared.fault {
      report.warning(
        "Workers have no control groups, so only periodic checks limit their memory: "
          + fault.message)
    }
  }

  /// Warns about limits that can't be enforced, once per library and again for each new one. It
  /// warns only on a terminal or with `--verbose`, because cron mails all output.
  ///
  /// Reported limits stay recorded, so that a service with control groups and a terminal without
  /// them don't cause repeated warnings.
  private func tellLimits(_ console: Console) throws {
    guard console.isTerminal || console.isVerbose, !console.isQuiet else { return }
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

  /// The answer if too many files are missing; only `run` may ask.
  private static func missingAnswer(_ context: Context) -> RunReport.MissingAnswer {
    if context.arguments.has(.acceptMissing) { return .yes }
    return context.arguments.verb == RunVerb.name && context.console.canAsk ? .ask : .no
  }
}
