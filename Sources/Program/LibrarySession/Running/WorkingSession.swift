import Catalog
import Configuration
import Engine
import Files
import Ingest
import LibraryControl
import PipelineModel
import PluginHost
import Records

/// A library opened for changes, with its stages ready to run.
struct WorkingSession {
  let setup: LibrarySetup
  let plan: StagePlan
  let library: ImportingLibrary
  let engine: Engine
  let report: RunReport
  let signals: SignalHandler
  /// The stages of a session beside the process with the library's lock; `nil` with the lock.
  let stages: OwnStages?
  /// What other machines ask for; `nil` without the lock, and where there can be none.
  let requests: RemoteRequests?

  /// The library, if this process has its lock.
  var own: IngestLibrary? { library as? IngestLibrary }

  init(_ place: SessionPlace, output: any SessionOutput, signals: SignalHandler) throws {
    switch place {
    case .locked(let locked): try self.init(locked, output: output, signals: signals)
    case .joined(let place): try self.init(place, output: output, signals: signals)
    }
  }

  /// Opens and recovers a locked library and loads the stages.
  init(_ locked: LockedLibrary, output: any SessionOutput, signals: SignalHandler) throws {
    self.signals = signals
    setup = locked.library.setup
    plan = locked.library.plan
    report = RunReport(output)
    let library = try IngestLibrary(
      locked.library.found, lock: locked.lock, reserve: setup.reserve(), report: report
    ) { signals.isStopRequested }
    self.library = library
    stages = nil
    requests = library.catalog.isOnServer ? RemoteRequests(catalog: library.catalog) : nil
    try library.catalog.configureGroups(GroupPolicy(setup.configuration.groups))
    try Self.tellPreparation(of: library.catalog, report.output)
    engine = try setup.makeEngine(
      plan, ledger: library.catalog, originals: library.originals,
      renditions: library.renditions, folder: library.folder, report: report
    ) {
      Heartbeat.shared.beat()
      return signals.isStopRequested
    }
    listenForOthers()
    do {
      try tellMachine()
    } catch {
      // Otherwise what listens would keep the catalog.
      library.catalog.listen { _ in }
      throw error
    }
  }

  /// Joins a library whose lock another machine has, and loads the stages.
  init(_ place: JoinedPlace, output: any SessionOutput, signals: SignalHandler) throws {
    self.signals = signals
    setup = place.setup
    plan = place.plan
    report = RunReport(output)
    requests = nil
    let joined = try place.open(report, signals)
    let (catalog, workplace) = (joined.catalog, joined.workplace)
    library = joined
    do {
      let stages = OwnStages(plan, catalog: catalog, workplace: workplace, report: report)
      self.stages = stages
      engine = try setup.makeEngine(
        plan, ledger: LedgerBeside(catalog: catalog), originals: workplace.originals,
        renditions: workplace.renditions, folder: workplace.folder, report: report
      ) {
        Heartbeat.shared.beat()
        return signals.isStopRequested
      }
      try stages.compare()
      listenForOthers()
      try tellMachine()
    } catch {
      // Why it could not be used is what counts.
      try? catalog.close()
      throw error
    }
  }

  /// Lets others find at once that this process has ended; called after an error, once no job runs.
  func giveUp() {
    guard library.catalog.isOnServer, engine.activity == .idle else { return }
    // Clean-up: without the server, they find that out by themselves.
    try? library.catalog.close()
  }

  /// The stages whose jobs this process may do now.
  var workable: Set<String> {
    stages?.workable(engine) ?? Set(plan.stages.map(\.name)).subtracting(engine.heldStages)
  }

  /// Says what this machine can't enforce.
  private func tellMachine() throws {
    try tellLimits()
    if let fault = WorkerControlGroups.shared.fault {
      report.warning(
        "Workers have no control groups, so only periodic checks limit their memory: "
          + fault.message)
    }
  }

  /// Tells of other processes that work on the library, and does what those leave that are gone.
  private func listenForOthers() {
    library.catalog.listen { [report, engine, requests] news in
      report.hear(news)
      if case .overtaken = news { return }
      requests?.hear()
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
    let key = own == nil ? "limits.missing.\(OwnProcess.node)" : "limits.missing"
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
