import Catalog
import Configuration
import Engine
import Files
import Ingest
import PipelineModel
import PluginHost

/// A library opened for changes, with its stages ready to run.
struct WorkingSession {
  let surroundings: Surroundings
  let plan: StagePlan
  let library: IngestLibrary
  let engine: Engine
  let report: RunReport

  /// Opens and recovers a locked library and loads the stages.
  init(_ context: Context, _ locked: LockedLibrary) throws {
    surroundings = locked.surroundings
    plan = locked.plan
    report = RunReport(console: context.console, missing: Self.missingAnswer(context))
    library = try IngestLibrary(
      locked.found, lock: locked.lock, reserve: surroundings.reserve(), report: report
    ) { Interruption.shared.isRequested }
    engine = try Engine(
      plan, ledger: library.catalog, originals: library.originals,
      library: library.folder,
      memoryBudget: surroundings.configuration.memoryBudget.bytes, report: report,
      shortage: { [surroundings] in surroundings.shortage() }
    ) {
      Pulse.shared.beat()
      return Interruption.shared.isRequested
    }
    try tellLimits(context.console)
    if let fault = WorkerGroups.shared.fault {
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
    let missing = HeldLimits.missing
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
