import Catalog
import Ingest
import PipelineModel

/// The runs of `watch`: each begins with the first file, and ends after a minute
/// in which nothing was taken and no job ended.
final class Burst: WatchReport {
  typealias Instant = ContinuousClock.Instant

  private let library: IngestLibrary
  private let report: RunReport
  private let console: Console
  private var run: (id: AssetID, start: Instant)?
  private var hasWarnedOfOverflow = false

  /// How long nothing may happen before a run is over.
  static let pause = Duration.seconds(60)

  init(library: IngestLibrary, report: RunReport, console: Console) {
    self.library = library
    self.report = report
    self.console = console
  }

  /// Whether a run is under way.
  var isOpen: Bool { run != nil }

  /// Begins a run if none is under way.
  func begin() throws {
    guard run == nil else { return }
    let id = library.ids.next()
    try library.catalog.beginRun(RunRecord(id: id, verb: WatchVerb.name, startedAt: .now))
    library.run = id
    run = (id, ContinuousClock().now)
  }

  /// Ends the run if its time is over.
  ///
  /// - Returns: when it will be, `nil` if none is under way.
  func tick() throws -> Instant? {
    // Jobs that nobody took a file for: tried again, or asked for by another process.
    if run == nil, report.counts.hasAny { try begin() }
    guard let run else { return nil }
    let end = max(run.start, report.lastEventAt ?? run.start) + Self.pause
    if ContinuousClock().now < end { return end }
    try self.end()
    return nil
  }

  /// Ends the run: its counters are recorded, and its summary is told.
  func end() throws {
    if run == nil, report.counts.hasAny { try begin() }
    guard let run else { return }
    self.run = nil
    library.run = nil
    let last = max(run.start, report.lastEventAt ?? run.start)
    let counts = report.takeCounts()
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

  func goesOn() { report.goesOn() }

  func warning(_ message: String) { report.warning(message) }

  func watch(_ event: WatchEvent) {
    // A source that is polled is looked through every few seconds.
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
