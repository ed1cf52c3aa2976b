import Catalog
import Ingest
import PipelineModel

/// The runs of `watch`: each begins with the first file or job and ends after a
/// minute in which no file was ingested and no job ended.
final class WatchRuns: WatchReport {
  typealias Instant = ContinuousClock.Instant

  private let library: IngestLibrary
  private let report: RunReport
  private let console: Console
  private var run: (id: AssetID, start: Instant)?
  private var hasWarnedOfOverflow = false

  /// The idle time after which a run ends.
  static let pause = Duration.seconds(60)

  init(library: IngestLibrary, report: RunReport, console: Console) {
    self.library = library
    self.report = report
    self.console = console
  }

  var isOpen: Bool { run != nil }

  /// Begins a run if none is in progress.
  func begin() throws {
    guard run == nil else { return }
    let id = library.ids.next()
    try library.catalog.beginRun(RunRecord(id: id, verb: WatchVerb.name, startedAt: .now))
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
    RunSummary(counts: counts, run: run.id, took: last - run.start).print(on: console)
  }

  // MARK: WatchReport

  func willRecord() throws(IngestError) {
    do {
      try begin()
    } catch let error as CatalogError {
      throw IngestError(error)
    } catch {
      throw IngestError(.catalog, "\(error)", cause: error)
    }
  }

  func file(_ event: FileEvent) { report.file(event) }

  func committed() { report.committed() }

  func stillWorking() { report.stillWorking() }

  func warning(_ message: String) { report.warning(message) }

  func watch(_ event: WatchEvent) {
    // Polled sources are rescanned every few seconds.
    if case .rescanned(_, _, isSpecial: false) = event, !console.isVerbose { return }
    let notice = WatchNotice(event)
    if console.isJSON { return console.event("watch", notice.members) }
    switch event {
    case .polled, .away, .full:
      console.warning(notice.text)
    case .overflowed where !hasWarnedOfOverflow:
      hasWarnedOfOverflow = true
      console.warning(notice.text)
    case .returned, .hasRoom, .rescanned(_, _, isSpecial: true):
      console.message(notice.text)
    case .watched, .overflowed, .crowded, .rescanned:
      if console.isVerbose { console.message(notice.text) }
    }
  }
}
