import Catalog
import Configuration
import Dispatch
import Engine
import Ingest
import PipelineModel
import PluginHost
import Records
import Synchronization

/// The runs of `watch`: each begins with the first file or job and ends after a
/// minute in which no file was imported and no job ended.
final class WatchRuns: WatchReport {
  typealias Instant = ContinuousClock.Instant

  private let library: ImportingLibrary
  private let report: RunReport
  private var run: (id: AssetID, start: Instant)?

  /// The idle time after which a run ends.
  static let pause = Duration.seconds(60)

  init(library: ImportingLibrary, report: RunReport) {
    self.library = library
    self.report = report
  }

  var isOpen: Bool { run != nil }

  /// Begins a run if none is in progress.
  func begin() throws {
    guard run == nil else { return }
    let id = library.ids.next()
    try library.catalog.beginRun(RunRecord(id: id, verb: "watch", startedAt: .now))
    library.run = id
    run = (id, ContinuousClock().now)
  }

  /// Ends the run if it has been idle long enough.
  ///
  /// - Returns: when the run will end; `nil` if none is in progress.
  func tick() throws -> Instant? {
    // Jobs without a new file: retried, or requested by another process.
    if run == nil, report.counts.hasAny { try begin() }
    guard let run else { return nil }
    let end = max(run.start, report.lastEventAt ?? run.start) + Self.pause
    if ContinuousClock().now < end { return end }
    try self.end()
    return nil
  }

  /// Ends the run: records its counters and prints its summary.
  func end() throws {
    if run == nil, report.counts.hasAny { try begin() }
    guard let run else { return }
    self.run = nil
    library.run = nil
    let last = max(run.start, report.lastEventAt ?? run.start)
    let counts = report.consumeCounts()
    try library.catalog.endRun(run.id, counters: counts.counters, at: .now)
    report.output.ended(RunResult(run: run.id, counts: counts, took: last - run.start))
  }

  // MARK: WatchReport

  func willRecord() throws { try begin() }

  func file(_ event: FileEvent) { report.file(event) }

  func committed() { report.committed() }

  func stillWorking() { report.stillWorking() }

  func warning(_ message: String) { report.warning(message) }

  func watch(_ event: WatchEvent) { report.output.watch(event) }
}

/// Rechecks unusable plugins while `watch` runs.
final class PluginRecheck: Sendable {
  private let isAsking = Atomic(false)
  private let hasMended = Atomic(false)
  private let configuration: PipelineConfiguration
  private let plan: StagePlan
  private let wakeup: Wakeup

  /// - Parameter wakeup: woken when a plugin has become usable.
  init(_ plan: StagePlan, _ configuration: PipelineConfiguration, wakeup: Wakeup) {
    self.plan = plan
    self.configuration = configuration
    self.wakeup = wakeup
  }

  /// Whether an unusable plugin has become usable, so that a new plan is due; resets the flag.
  func consumeMended() -> Bool { hasMended.exchange(false, ordering: .relaxed) }

  /// Rechecks unusable plugins; returns at once, because some may take long to answer.
  func begin() {
    guard plan.stages.contains(where: { $0.fault != nil }),
      !isAsking.exchange(true, ordering: .relaxed)
    else { return }
    DispatchQueue.global().async { [self] in
      let finder = PluginFinder(configured: configuration.plugins)
      if plan.isMended(configuration, finder: finder) {
        hasMended.store(true, ordering: .relaxed)
        wakeup.wake()
      }
      isAsking.store(false, ordering: .relaxed)
    }
  }
}
