import Catalog
import Configuration
import Files
import Glibc
import PipelineModel

/// A run's visit to one configured source.
final class SourceVisit {
  private let configuration: SourceConfiguration
  private let library: IngestLibrary
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

  /// Opens a source.
  ///
  /// - Throws: `IngestError` of code `source` if it is missing or not what it was.
  init(
    _ configuration: SourceConfiguration, library: IngestLibrary, report: any IngestReport,
    interleaved: InterleavedWork = .none, isStopped: @escaping @Sendable () -> Bool
  ) throws(IngestError) {
    self.configuration = configuration
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
    settledAt = ContinuousClock().now + configuration.settle.duration
  }

  /// Compares the source with the catalog; imports what is complete at once.
  func scan(isStopped: @Sendable () -> Bool) throws(IngestError) {
    let now = Timestamp.now
    var comparison = try SourceComparison(
      of: source, configuration: configuration, with: library, now: now)
    var missing = MissingFiles(allowed: configuration.maxMissing, renames: importer.renames)
    while !isStopped(), let finding = try comparison.next() {
      switch finding {
      case .unchanged:
        break
      case .candidate(let candidate):
        if isFresh(candidate, now: now) {
          fresh.append(candidate)
          settledAt = ContinuousClock().now + configuration.settle.duration
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
  func importSettled(isStopped: @Sendable () -> Bool) throws(IngestError) {
    guard !fresh.isEmpty else { return }
    while ContinuousClock().now < settledAt, !isStopped() {
      if interleaved.isDue() { try interleaved.run() }
      usleep(20_000)
    }
    for candidate in fresh {
      if isStopped() { break }
      group.add(requiringQuiet(candidate))
      if group.isFull { try importGroup() }
    }
    if !isStopped() { try group.importFiles(by: importer) }
    try importer.finish()
  }

  /// Imports the collected files; then, with the catalog up to date, other work may run.
  private func importGroup() throws(IngestError) {
    try group.importFiles(by: importer)
    guard interleaved.isDue() else { return }
    try importer.finish()
    try interleaved.run()
  }

  /// Whether a file's ctime is within the settle window, or in the future.
  private func isFresh(_ candidate: Candidate, now: Timestamp) -> Bool {
    guard configuration.complete == .quiet else { return false }
    let age = now.microseconds - candidate.identity.changed / 1000
    return age < Int64(configuration.settle.milliseconds) * 1000
  }

  /// Prepares a candidate for its second look: its whole identity must be unchanged, which
  /// `Examination` checks by size, inode and both times.
  private func requiringQuiet(_ candidate: Candidate) -> Candidate {
    var candidate = candidate
    candidate.mustBeQuiet = true
    return candidate
  }
}
