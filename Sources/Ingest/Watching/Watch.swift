package import Configuration
import PipelineModel

/// Takes what is complete in sources, for as long as it is told to.
///
/// All of it runs on the thread that calls; only the kernel's words are read
/// elsewhere. One round looks at every source and takes at most one group of
/// each, so that requests and signals are answered between two groups.
package final class Watch {
  /// What the owner of a watch adds to it.
  package struct Hooks {
    /// Whether the watch is to end; asked from any thread, for each mebibyte too.
    package var isStopped: @Sendable () -> Bool
    /// What others want of the library; they get it when nothing is owed to the catalog.
    package var interlude: Interlude
    /// Called each round; returns when it has to be called again.
    package var tick: () throws -> ContinuousClock.Instant

    package init(
      isStopped: @escaping @Sendable () -> Bool, interlude: Interlude,
      tick: @escaping () throws -> ContinuousClock.Instant
    ) {
      self.isStopped = isStopped
      self.interlude = interlude
      self.tick = tick
    }
  }

  private let sources: [WatchedSource]
  private let wakeup: Wakeup
  private let hooks: Hooks
  private let library: IngestLibrary
  private let report: any WatchReport
  /// When to see whether there is room again, while there is none.
  private var nextRoom: ContinuousClock.Instant?
  private static let roomInterval = Duration.seconds(5)

  /// Makes a watch; nothing is looked at yet.
  ///
  /// - Parameters:
  ///   - rescan: how often all is looked through, whatever the kernel says.
  ///   - wakeup: woken by the kernel's word, and by whoever wants a round.
  package init(
    _ sources: [SourceConfiguration], rescan: Duration, library: IngestLibrary,
    report: any WatchReport, wakeup: Wakeup, hooks: Hooks
  ) {
    self.wakeup = wakeup
    self.hooks = hooks
    self.library = library
    self.report = report
    self.sources = sources.map {
      WatchedSource(
        $0, library: library, rescan: rescan, report: report, wakeup: wakeup,
        isStopped: hooks.isStopped)
    }
  }

  /// Watches all sources that are there.
  package func begin() throws(IngestError) {
    for source in sources where !hooks.isStopped() { try source.begin() }
  }

  /// Works and waits until the watch is stopped.
  package func run() throws {
    while !hooks.isStopped() {
      let deadline = try round()
      if let deadline, !hooks.isStopped() { wakeup.sleep(until: deadline) }
    }
    for source in sources { try source.finish() }
  }

  /// Does one round.
  ///
  /// - Returns: when the next one is due, `nil` at once.
  func round() throws -> ContinuousClock.Instant? {
    let next = try hooks.tick()
    if hooks.interlude.isDue() {
      for source in sources { try source.flush() }
      try hooks.interlude.run()
    }
    if let moment = try roomDeadline() { return min(next, moment) }
    return try workOrPause(next)
  }

  /// Lets each source do what is due; while the disk is full, none is asked.
  private func workOrPause(_ next: ContinuousClock.Instant) throws(IngestError)
    -> ContinuousClock.Instant?
  {
    do throws(IngestError) {
      return try work(next)
    } catch {
      guard error.code == .noSpace else { throw error }
      report.watch(.full(reason: error.message))
      let moment = ContinuousClock().now + Self.roomInterval
      nextRoom = moment
      return min(next, moment)
    }
  }

  /// - Returns: when a source has to be asked again, `nil` at once.
  private func work(_ deadline: ContinuousClock.Instant) throws(IngestError)
    -> ContinuousClock.Instant?
  {
    var next = deadline
    var isBusy = false
    for source in sources where !hooks.isStopped() {
      isBusy = try source.work() || isBusy
      next = min(next, source.nextDeadline)
    }
    if !isBusy, !hooks.isStopped() { isBusy = try library.removeImpliedSightings() }
    return isBusy ? nil : next
  }

  /// When to look for room, or `nil` if there is some.
  private func roomDeadline() throws(IngestError) -> ContinuousClock.Instant? {
    guard let moment = nextRoom else { return nil }
    let now = ContinuousClock().now
    if now < moment { return moment }
    guard try library.hasRoom() else {
      nextRoom = now + Self.roomInterval
      return nextRoom
    }
    nextRoom = nil
    report.watch(.hasRoom)
    for source in sources { source.lookAgain() }
    return nil
  }

  /// How many sources are watched, polled and away.
  package var counts: (watched: Int, polled: Int, away: Int) {
    var counts = (watched: 0, polled: 0, away: 0)
    for source in sources {
      switch source.phase {
      case .watched: counts.watched += 1
      case .polled: counts.polled += 1
      case .away: counts.away += 1
      }
    }
    return counts
  }
}
