import Catalog
import Configuration
import Dispatch
import Engine
import Files
import Glibc
import Ingest
import PipelineModel
import Synchronization

/// `watch` with one configuration: ingests files and runs jobs until a signal or a
/// new configuration.
final class WatchSession {
  private let context: Context
  private let locked: LockedLibrary
  private let session: WorkingSession
  private let service: ServiceManager
  private let wakeup: Wakeup
  private let runs: WatchRuns
  private let recheck: PluginRecheck
  private let stopFlag = StopFlag()
  private var next: LockedLibrary?
  /// Whether another process requested the library.
  private var isLettingGo = false
  private var lastStatus = ""

  /// How long jobs may take to finish.
  private static let patience = Duration.seconds(8)

  init(
    _ context: Context, _ locked: LockedLibrary, service: ServiceManager, wakeup: Wakeup
  ) throws {
    self.context = context
    self.locked = locked
    self.service = service
    self.wakeup = wakeup
    session = try WorkingSession(context, locked)
    runs = WatchRuns(library: session.library, report: session.report, console: context.console)
    recheck = PluginRecheck(
      session.plan, session.setup.configuration, wakeup: wakeup)
  }

  enum Outcome {
    case signal
    /// Continue with a new configuration.
    case reload(LockedLibrary)
    /// Release the library briefly for another process.
    case letGo(ConfiguredLibrary)
  }

  func run() throws -> Outcome {
    let engine = session.engine
    let wakeup = wakeup
    let control = try ControlSocket(in: session.library.folder) { wakeup.wake() }
    defer {
      control.close()
      // Break the retain cycle between the engine and the report.
      session.report.forget()
    }
    session.report.afterCommit { engine.wake() }
    session.report.afterFailure { wakeup.wake() }
    do {
      try RenditionRelocation(engine: engine, plan: session.plan)
        .run(settings: session.library.catalog) {
          Heartbeat.shared.beat()
          return SignalHandler.shared.isStopRequested
        }
      engine.warmUp()
      try beginWithBacklog()
      try watch(control)
    } catch {
      control.close()
      stopEngine(isComingBack: true)
      // Clean-up: opening the library again recovers what could not be recorded.
      try? session.library.close()
      throw error
    }
    let isComingBack = next != nil || isLettingGo
    // First answer processes that wait for the jobs of an import.
    let end = ContinuousClock().now + Self.patience
    while isComingBack, control.isBusy, ContinuousClock().now < end { usleep(10_000) }
    if next == nil, !isLettingGo { service.stopping() }
    control.close()
    stopEngine(isComingBack: isComingBack)
    try runs.end()
    try session.library.close()
    if let next { return .reload(next) }
    return isLettingGo ? .letGo(ConfiguredLibrary(locked)) : .signal
  }

  private func watch(_ control: ControlSocket) throws {
    let configuration = session.setup.configuration
    let stopFlag = stopFlag
    let handler = RequestHandler(session) { [unowned self] in
      isLettingGo = true
      stopFlag.isDue.store(true, ordering: .relaxed)
    }
    let watch = SourceWatcher(
      configuration.sources, rescan: configuration.rescan.duration, library: session.library,
      report: runs, wakeup: wakeup,
      hooks: .init(
        isStopped: {
          Heartbeat.shared.beat()
          return SignalHandler.shared.isStopRequested || stopFlag.isDue.load(ordering: .relaxed)
        },
        interleaved: InterleavedWork(isDue: { control.hasRequests }) { () throws(IngestError) in
          try control.serve(handler)
        },
        tick: { [unowned self] in try tick() }))
    try watch.begin()
    service.ready()
    if context.console.isTerminal { context.console.message("Watching; Ctrl-C ends it.") }
    counts = { watch.counts }
    let report = session.report
    let bar = ProgressBar(console: context.console, every: .milliseconds(500)) {
      WatchNotice.activity(report.counts)
    }
    bar.begin()
    defer {
      bar.end()
      counts = nil
    }
    try watch.run()
  }

  /// Begins a run if jobs are already due.
  private func beginWithBacklog() throws {
    let ready = try session.library.catalog.backlog().values.reduce(0) { sum, states in
      sum + states[.ready, default: 0]
    }
    if ready > 0 { try runs.begin() }
    session.engine.wake()
  }

  private func stopEngine(isComingBack: Bool) {
    session.engine.stop(deadline: ContinuousClock().now + Self.patience)
    // Workers still busy have exceeded their time.
    session.engine.close()
    // Before continuing with another configuration, nothing may use this catalog any more.
    while isComingBack, !session.engine.isQuiet, !SignalHandler.shared.isStopRequested {
      Heartbeat.shared.beat()
      session.engine.stop(deadline: ContinuousClock().now + .seconds(1))
    }
  }

  /// Whether to end this session.
  private final class StopFlag: Sendable {
    let isDue = Atomic(false)
  }

  // MARK: Each round

  private func tick() throws -> ContinuousClock.Instant {
    if let failure = session.engine.failure { throw failure }
    if SignalHandler.shared.consumeReload() || recheck.consumeMended() { reload() }
    let now = ContinuousClock().now
    var moment = now + .seconds(3600)
    if let end = try runs.tick() { moment = min(moment, end) }
    if retryAt <= now {
      // Stages held by environment failures are retried after a while.
      try session.engine.releaseHeldStages()
      session.engine.wake()
      recheck.begin()
      retryAt = now + session.setup.configuration.rescan.duration
    }
    moment = min(moment, retryAt)
    silence.look(context.console, session.report, session.engine)
    if !session.engine.isQuiet { moment = min(moment, now + SilenceNotice.patience) }
    Heartbeat.shared.beat()
    if let next = Heartbeat.shared.next { moment = min(moment, next) }
    tellStatus()
    return moment
  }

  private var retryAt = ContinuousClock().now
  private var silence = SilenceNotice()
  /// The numbers of sources watched, polled and away; `nil` before the watch begins.
  private var counts: (() -> (watched: Int, polled: Int, away: Int))?

  private func tellStatus() {
    guard let counts = counts?() else { return }
    var parts = ["Watching \(counted(counts.watched, "source"))"]
    if counts.polled > 0 { parts.append("polling \(counts.polled)") }
    if counts.away > 0 { parts.append("\(counts.away) missing") }
    let files = session.report.counts
    if runs.isOpen { parts.append("\(files[.imported]) imported in this run") }
    let status = parts.joined(separator: ", ")
    if status == lastStatus { return }
    lastStatus = status
    service.status(status)
  }

  // MARK: Another configuration

  /// Reloads the configuration; keeps the old one if the new one is not usable.
  private func reload() {
    service.reloading()
    do {
      let library = try ConfiguredLibrary(context, makesLibrary: false)
      let (old, new) = (locked.setup.layout, library.setup.layout)
      guard old.root == new.root, old.catalogFolder == new.catalogFolder else {
        throw UsageError(
          "The configuration now names another library or catalog; that requires a restart.",
          verb: nil)
      }
      next = LockedLibrary(library, lock: locked.lock)
      stopFlag.isDue.store(true, ordering: .relaxed)
    } catch {
      Failure(error).print(on: context.console)
      context.console.message("The old configuration stays in use.")
      service.ready()
    }
  }
}
