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
  private let burst: Burst
  private let recheck: PluginRecheck
  private let ending = Ending()
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
    burst = Burst(library: session.library, report: session.report, console: context.console)
    recheck = PluginRecheck(
      session.plan, session.surroundings.configuration, wakeup: wakeup)
  }

  enum End {
    case signal
    /// Continue with a new configuration.
    case reload(LockedLibrary)
    /// Release the library briefly for another process.
    case letGo(ConfiguredLibrary)
  }

  func run() throws -> End {
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
          Pulse.shared.beat()
          return Interruption.shared.isRequested
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
    try burst.end()
    try session.library.close()
    if let next { return .reload(next) }
    return isLettingGo ? .letGo(ConfiguredLibrary(locked)) : .signal
  }

  private func watch(_ control: ControlSocket) throws {
    let configuration = session.surroundings.configuration
    let ending = ending
    let work = LibraryWork(session) { [unowned self] in
      isLettingGo = true
      ending.isDue.store(true, ordering: .relaxed)
    }
    let watch = Watch(
      configuration.sources, rescan: configuration.rescan.duration, library: session.library,
      report: burst, wakeup: wakeup,
      hooks: .init(
        isStopped: {
          Pulse.shared.beat()
          return Interruption.shared.isRequested || ending.isDue.load(ordering: .relaxed)
        },
        interlude: Interlude(isDue: { control.hasRequests }) { () throws(IngestError) in
          try control.serve(work)
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
    if ready > 0 { try burst.begin() }
    session.engine.wake()
  }

  private func stopEngine(isComingBack: Bool) {
    session.engine.stop(deadline: ContinuousClock().now + Self.patience)
    // Workers still busy have exceeded their time.
    session.engine.close()
    // Before continuing with another configuration, nothing may use this catalog any more.
    while isComingBack, !session.engine.isQuiet, !Interruption.shared.isRequested {
      Pulse.shared.beat()
      session.engine.stop(deadline: ContinuousClock().now + .seconds(1))
    }
  }

  /// Whether to end this session.
  private final class Ending: Sendable {
    let isDue = Atomic(false)
  }

  // MARK: Each round

  private func tick() throws -> ContinuousClock.Instant {
    if let failure = session.engine.failure { throw failure }
    if Interruption.shared.takeReload() || recheck.takeMended() { reload() }
    let now = ContinuousClock().now
    var moment = now + .seconds(3600)
    if let end = try burst.tick() { moment = min(moment, end) }
    if retryAt <= now {
      // Stages held by environment failures are retried after a while.
      try session.engine.releaseHeldStages()
      session.engine.wake()
      recheck.begin()
      retryAt = now + session.surroundings.configuration.rescan.duration
    }
    moment = min(moment, retryAt)
    silence.look(context.console, session.report, session.engine)
    if !session.engine.isQuiet { moment = min(moment, now + SilenceNotice.patience) }
    Pulse.shared.beat()
    if let next = Pulse.shared.next { moment = min(moment, next) }
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
    if burst.isOpen { parts.append("\(files[.imported]) imported in this run") }
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
      let (old, new) = (locked.surroundings.layout, library.surroundings.layout)
      guard old.root == new.root, old.catalogFolder == new.catalogFolder else {
        throw UsageError(
          "The configuration now names another library or catalog; that requires a restart.",
          verb: nil)
      }
      next = LockedLibrary(library, lock: locked.lock)
      ending.isDue.store(true, ordering: .relaxed)
    } catch {
      Failure(error).print(on: context.console)
      context.console.message("The old configuration stays in use.")
      service.ready()
    }
  }
}
