import Catalog
import Configuration
import Engine
import Glibc
import Ingest
import PipelineModel
import Records
import Synchronization

/// `watch` with one configuration: imports files and runs jobs until a signal or a
/// new configuration.
final class WatchSession {
  private let place: SessionPlace
  private let session: WorkingSession
  private let signals: SignalHandler
  private let service: ServiceManager
  private let wakeup: Wakeup
  private let runs: WatchRuns
  private let recheck: PluginRecheck
  /// How often to try held stages again, at least.
  private static let recheckOfHeld = Duration.seconds(60)
  private let stopFlag = StopFlag()
  /// How the session is to end.
  private var outcome = Outcome.signal
  private var lastStatus = ""

  /// How long jobs may take to finish.
  private static let patience = Duration.seconds(8)

  init(
    _ place: SessionPlace, output: any SessionOutput, signals: SignalHandler,
    service: ServiceManager, wakeup: Wakeup
  ) throws {
    self.place = place
    self.signals = signals
    self.service = service
    self.wakeup = wakeup
    session = try WorkingSession(place, output: output, signals: signals)
    runs = WatchRuns(library: session.library, report: session.report)
    recheck = PluginRecheck(session.plan, session.setup.configuration, wakeup: wakeup)
  }

  enum Outcome {
    case signal
    /// Continue with a new configuration.
    case reload(SessionPlace)
    /// Release the library briefly for another process.
    case letGo(ConfiguredLibrary)
  }

  func run() throws -> Outcome {
    let engine = session.engine
    let (signals, wakeup) = (signals, wakeup)
    let control: ControlSocket
    do {
      control = try ControlSocket(in: session.library.openControlFolder()) { wakeup.wake() }
    } catch {
      // The next session opens it again.
      try? session.library.catalog.close()
      throw error
    }
    defer {
      control.close()
      // Break the retain cycle between the engine and the report.
      session.report.forget()
    }
    session.report.listen(onCommit: { engine.wake() }, onFailure: { wakeup.wake() })
    do {
      if session.own != nil {
        try RenditionRelocation(engine: engine, plan: session.plan)
          .run(settings: session.library.catalog) {
            Heartbeat.shared.beat()
            return signals.isStopRequested
          }
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
    let isComingBack = if case .signal = outcome { false } else { true }
    // First answer processes that wait for the jobs of an import.
    let end = ContinuousClock().now + Self.patience
    while isComingBack, control.isBusy, ContinuousClock().now < end { usleep(10_000) }
    if !isComingBack { service.stopping() }
    control.close()
    stopEngine(isComingBack: isComingBack)
    try runs.end()
    try session.library.close()
    return outcome
  }

  private func watch(_ control: ControlSocket) throws {
    let configuration = session.setup.configuration
    let (signals, stopFlag, requests) = (signals, stopFlag, session.requests)
    requests?.onArrival { [wakeup] in wakeup.wake() }
    let handler = RequestHandler(session) { [unowned self] in
      // A new configuration comes first: the other process asks again.
      if case .signal = outcome, case .locked(let locked) = place {
        outcome = .letGo(locked.library)
      }
      stopFlag.isDue.store(true, ordering: .relaxed)
    }
    let watch = SourceWatcher(
      configuration.sources, rescan: configuration.rescan.duration, library: session.library,
      report: runs, wakeup: wakeup,
      hooks: .init(
        isStopped: {
          Heartbeat.shared.beat()
          return signals.isStopRequested || stopFlag.isDue.load(ordering: .relaxed)
        },
        interleaved: InterleavedWork(
          isDue: { control.hasRequests || requests?.mayHaveRequests ?? false }
        ) {
          try control.serve(handler)
          try requests?.serve(handler)
        },
        tick: { [unowned self] in try tick() }))
    try watch.begin()
    service.ready()
    counts = { watch.counts }
    let endProgress = session.report.output.show(.watch, of: session.report)
    defer {
      endProgress()
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
    while isComingBack, session.engine.activity != .idle, !signals.isStopRequested {
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
    if signals.consumeReload() || recheck.consumeMended() { reload() }
    let now = ContinuousClock().now
    var moment = now + .seconds(3600)
    if let end = try runs.tick() { moment = min(moment, end) }
    if retryAt <= now {
      // Stages held by environment failures are retried after a while.
      session.engine.releaseHeldStages()
      session.engine.wake()
      recheck.begin()
      retryAt = now + session.setup.configuration.rescan.duration
    }
    if session.engine.holdsForAWhile { retryAt = min(retryAt, now + Self.recheckOfHeld) }
    moment = min(moment, retryAt)
    if let due = try beginRetries() { moment = min(moment, now + due) }
    if let due = try lookBeside() { moment = min(moment, now + due) }
    if let due = try wakeForOthers() { moment = min(moment, now + due) }
    silence.look(session.report, session.engine)
    if session.engine.activity != .idle { moment = min(moment, now + SilenceNotice.patience) }
    Heartbeat.shared.beat()
    if let next = Heartbeat.shared.next { moment = min(moment, next) }
    tellStatus()
    return moment
  }

  /// Starts the jobs whose next attempt is due.
  ///
  /// - Returns: how long until the next one is.
  private func beginRetries() throws -> Duration? {
    let catalog = session.library.catalog
    var due = try catalog.nextDue(after: retriesBegunAt)
    retriesBegunAt = due.now
    if let next = due.next, next <= due.now {
      session.engine.wake()
      due = try catalog.nextDue(after: due.now)
    }
    return due.next.map { .microseconds($0.microseconds - due.now.microseconds) }
  }

  /// Looks for what concerns a process beside the one with the lock: other stages, and being asked to end.
  ///
  /// - Returns: how long until the next look; `nil` with the lock.
  private func lookBeside() throws -> Duration? {
    guard let stages = session.stages else { return nil }
    try stages.compareAgain()
    if try session.library.catalog.isDraining { stopFlag.isDue.store(true, ordering: .relaxed) }
    return .seconds(2)
  }

  /// Looks for jobs that other processes made ready and did not tell of.
  ///
  /// - Returns: how long until the next look; `nil` if there can be no other process.
  private func wakeForOthers() throws -> Duration? {
    guard session.library.layout.database != nil else { return nil }
    let now = ContinuousClock.now
    if now >= othersAt {
      let catalog = session.library.catalog
      // Two statements; a claim that finds nothing costs several for each stage.
      if try catalog.hasCompany(), try catalog.mayHaveJobs(in: session.workable) {
        session.engine.wake()
      }
      session.requests?.hear()
      othersAt = now + .seconds(30)
    }
    return othersAt - now
  }

  /// When to look for them next.
  private var othersAt = ContinuousClock.now
  private var retryAt = ContinuousClock().now
  /// Until when jobs that became due were started, by the ledger's clock.
  private var retriesBegunAt: Timestamp?
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
      outcome = .reload(try place.reloaded())
      stopFlag.isDue.store(true, ordering: .relaxed)
    } catch {
      session.report.output.survived(error)
      session.report.output.message("The old configuration stays in use.")
      service.ready()
    }
  }
}
