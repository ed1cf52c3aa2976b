package import Configuration
import Files
import PipelineModel
import Synchronization

/// Imports complete files from sources until it is stopped.
///
/// All of it runs on the calling thread; only kernel events are read elsewhere. One round visits
/// every source and imports at most one group from each, so that requests and signals are handled
/// between two groups.
package final class SourceWatcher {
  /// What the owner of a watch adds to it.
  package struct Hooks {
    /// Whether to end the watch; called from any thread, also for each mebibyte.
    package var isStopped: @Sendable () -> Bool
    /// Requests of others to the library; run when the catalog is up to date.
    package var interleaved: InterleavedWork
    /// Called each round; returns when to call it again.
    package var tick: () throws -> ContinuousClock.Instant

    package init(
      isStopped: @escaping @Sendable () -> Bool, interleaved: InterleavedWork,
      tick: @escaping () throws -> ContinuousClock.Instant
    ) {
      self.isStopped = isStopped
      self.interleaved = interleaved
      self.tick = tick
    }
  }

  private let sources: [WatchedSource]
  private let wakeup: Wakeup
  private let hooks: Hooks
  private let library: ImportingLibrary
  private let report: any WatchReport
  /// Whether imports pause because of the store of originals, not because of the disk.
  private var isStoreAway = false
  /// When to look again whether imports may go on, while they may not.
  private var nextRoom: ContinuousClock.Instant?
  private static let roomInterval = Duration.seconds(5)
  /// How long to wait before the store is tried again: longer each time that it answers and stores nothing.
  private var storeInterval = roomInterval
  private static let longestStoreInterval = Duration.seconds(300)
  /// When the store could be used again.
  private var storeReturn: ContinuousClock.Instant?

  /// - Parameters:
  ///   - rescan: the interval of full scans, whatever the kernel reports.
  ///   - wakeup: woken by kernel events, and by anyone who wants a round.
  package init(
    _ sources: [SourceConfiguration], rescan: Duration, library: ImportingLibrary,
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

  /// Watches all existing sources.
  package func begin() throws {
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

  /// - Returns: when the next one is due; `nil` for at once.
  func round() throws -> ContinuousClock.Instant? {
    let next = try hooks.tick()
    if hooks.interleaved.isDue() {
      for source in sources { try source.flush() }
      try hooks.interleaved.run()
    }
    if let moment = try roomDeadline() { return min(next, moment) }
    return try workOrPause(next)
  }

  /// Lets each source do what is due; pauses while the disk is full or the store is away.
  private func workOrPause(_ next: ContinuousClock.Instant) throws -> ContinuousClock.Instant? {
    do {
      return try work(next)
    } catch let error as IngestError where error.pausesImports {
      isStoreAway = error.code == .store
      report.watch(isStoreAway ? .storeAway(reason: error.message) : .full(reason: error.message))
      let now = ContinuousClock().now
      if isStoreAway {
        let wasBack = storeReturn.map { now - $0 < .seconds(60) } ?? false
        storeInterval =
          wasBack ? min(storeInterval * 2, Self.longestStoreInterval) : Self.roomInterval
      }
      let moment = now + (isStoreAway ? storeInterval : Self.roomInterval)
      nextRoom = moment
      return min(next, moment)
    }
  }

  /// - Returns: when a source is due again; `nil` for at once.
  private func work(_ deadline: ContinuousClock.Instant) throws -> ContinuousClock.Instant? {
    var next = deadline
    var isBusy = false
    for source in sources where !hooks.isStopped() {
      isBusy = try source.work() || isBusy
      next = min(next, source.nextDeadline)
    }
    if !isBusy, !hooks.isStopped() { isBusy = try library.keepUp(report) }
    if !isBusy, !hooks.isStopped() { isBusy = try library.removeImpliedSightings() }
    return isBusy ? nil : next
  }

  /// When to look again whether imports may go on; `nil` if they may.
  private func roomDeadline() throws -> ContinuousClock.Instant? {
    guard let moment = nextRoom else { return nil }
    let now = ContinuousClock().now
    if now < moment { return moment }
    let mayGoOn = try isStoreAway ? library.canUseStore() : library.hasRoom()
    guard mayGoOn else {
      nextRoom = now + (isStoreAway ? storeInterval : Self.roomInterval)
      return nextRoom
    }
    nextRoom = nil
    if isStoreAway { storeReturn = now }
    report.watch(isStoreAway ? .storeBack : .hasRoom)
    for source in sources { source.requestRescan() }
    return nil
  }

  /// The number of sources watched, polled and away.
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

/// Lets one thread sleep until a moment or an event.
package final class Wakeup: Sendable {
  private let semaphore = TimedSemaphore()
  /// Whether a call of `wake` is still unanswered: many calls count as one.
  private let isDue = Atomic(false)

  package init() {}

  /// Ends the sleep, or prevents the next one; callable from any thread.
  package func wake() {
    if !isDue.exchange(true, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }

  /// Sleeps until `wake` or the moment; returns at once if `wake` was called since the last sleep.
  package func sleep(until moment: ContinuousClock.Instant) {
    _ = semaphore.wait(for: moment - ContinuousClock().now)
    // Before the reason is examined, so that a call in between is not lost.
    isDue.store(false, ordering: .sequentiallyConsistent)
  }
}
