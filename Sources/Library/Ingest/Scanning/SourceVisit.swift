import Catalog
import Configuration
import Files
import Glibc
import PipelineModel
import Records

/// A run's visit to one configured source.
final class SourceVisit {
  private let configuration: SourceConfiguration
  private let completeness: Completeness
  private let library: ImportingLibrary
  private let report: any IngestReport
  private let source: IngestSource
  private let importer: Importer
  private let interleaved: InterleavedWork
  private var group = CandidateGroup()
  /// Complete only if unchanged until `settledAt`, one settle window after the last was seen.
  private var fresh: [Candidate] = []
  var settledAt: ContinuousClock.Instant
  /// Why missing files were not recorded, if there were too many.
  private(set) var refusal: IngestError?

  /// - Throws: `IngestError` of code `source` if it is missing or not what it was.
  init(
    _ configuration: SourceConfiguration, library: ImportingLibrary, report: any IngestReport,
    interleaved: InterleavedWork = .none, isStopped: @escaping @Sendable () -> Bool
  ) throws {
    self.configuration = configuration
    completeness = Completeness(configuration)
    self.library = library
    self.report = report
    self.interleaved = interleaved
    source = try IngestSource.open(configuration, for: library)
    do throws(FileError) {
      importer = try Importer(
        library: library, source: source, report: report, isStopped: isStopped)
    } catch {
      throw IngestSource.missing(configuration, error)
    }
    settledAt = ContinuousClock().now + completeness.window
  }

  /// Compares the source with the catalog; imports what is complete at once.
  func scan(isStopped: @Sendable () -> Bool) throws {
    let now = Timestamp.now
    var comparison = try SourceComparison(
      of: source, configuration: configuration, with: library, now: now)
    var missing = MissingFiles(allowed: configuration.maxMissing, renames: importer.renames)
    while !isStopped(), let finding = try comparison.next() {
      switch finding {
      case .unchanged:
        break
      case .candidate(let candidate):
        if completeness.wait(for: candidate.identity, at: now) != nil {
          fresh.append(candidate)
          settledAt = ContinuousClock().now + completeness.window
        } else {
          group.add(candidate)
          if group.isFull { try importGroup() }
        }
      case .awaitsRemoval(let sighting, let candidate):
        if try !importer.finishRemoval(of: sighting) { group.add(candidate) }
      case .missing(let sighting):
        missing.add(sighting.path)
      case .changed(let sighting):
        try importer.note(sighting)
      case .restored(let sighting):
        try importer.recordRestored(sighting)
      }
    }
    if !isStopped() { try group.importFiles(by: importer) }
    // An interrupted scan does not know how many files there should be.
    if !isStopped() {
      refusal = try importer.recordMissing(
        missing, of: comparison.expected, configuration: configuration)
    }
    try importer.finish()
  }

  /// Waits for the end of the settle window and imports files unchanged in it.
  func importSettled(isStopped: @Sendable () -> Bool) throws {
    guard !fresh.isEmpty else { return }
    while ContinuousClock().now < settledAt, !isStopped() {
      if interleaved.isDue() { try interleaved.run() }
      usleep(20_000)
    }
    for var candidate in fresh {
      if isStopped() { break }
      candidate.mustBeQuiet = true
      group.add(candidate)
      if group.isFull { try importGroup() }
    }
    if !isStopped() { try group.importFiles(by: importer) }
    try importer.finish()
  }

  /// Imports the collected files; then, with the catalog up to date, other work may run.
  private func importGroup() throws {
    try group.importFiles(by: importer)
    guard interleaved.isDue() else { return }
    try importer.finish()
    try interleaved.run()
  }
}
