import Catalog
import Configuration
import Files
import Glibc
import PipelineModel

/// One visit of a run to one configured source.
final class SourceVisit {
  private let configuration: SourceConfiguration
  private let library: IngestLibrary
  private let report: any IngestReport
  private let source: IngestSource
  private let handOff: HandOff
  private let interlude: Interlude
  private var group = CandidateGroup()
  /// Complete only if they stay as they are until `settledAt`, which is one settle
  /// window after the last of them was seen.
  private var fresh: [Candidate] = []
  private(set) var settledAt: ContinuousClock.Instant

  /// Opens a source.
  ///
  /// - Throws: `IngestError` of code `source` if it is missing or not what it was.
  init(
    _ configuration: SourceConfiguration, library: IngestLibrary, report: any IngestReport,
    interlude: Interlude = .none, isStopped: @escaping @Sendable () -> Bool
  ) throws(IngestError) {
    self.configuration = configuration
    self.library = library
    self.report = report
    self.interlude = interlude
    do throws(FileError) {
      source = try IngestSource(configuration)
      handOff = try HandOff(
        library: library, source: source, report: report, isStopped: isStopped)
    } catch {
      throw IngestError(
        .source,
        "\(error.message) The source is passed over; nothing about its files is changed.",
        path: configuration.path, cause: error)
    }
    settledAt = ContinuousClock().now + configuration.settle.duration
    try library.check(configuration.path, isOutsideFor: "The source")
    try MountGuard(library: library).check(source)
  }

  /// Compares the source with the catalog; takes what is complete at once.
  func scan(isStopped: @Sendable () -> Bool) throws(IngestError) {
    let now = Timestamp.now
    var comparison = try compare(now: now)
    while !isStopped(), let finding = try comparison.next() {
      switch finding {
      case .settled:
        break
      case .candidate(let candidate):
        if isFresh(candidate, now: now) {
          fresh.append(candidate)
          settledAt = ContinuousClock().now + configuration.settle.duration
        } else {
          group.add(candidate)
          if group.isFull { try takeGroup() }
        }
      case .awaitsRemoval(let sighting, let candidate):
        if try !handOff.finishRemoval(of: sighting) { group.add(candidate) }
      case .changed(let sighting):
        try handOff.note(sighting)
      case .restored(let sighting):
        handOff.noteQuietly(sighting)
      }
    }
    if !isStopped() { try handOff.take(group.removeAll()) }
    try handOff.finish()
  }

  /// Waits for the end of the settle window and takes what was quiet in it.
  func takeSettled(isStopped: @Sendable () -> Bool) throws(IngestError) {
    guard !fresh.isEmpty else { return }
    while ContinuousClock().now < settledAt, !isStopped() {
      if interlude.isDue() { interlude.run() }
      usleep(20_000)
    }
    for candidate in fresh {
      if isStopped() { break }
      group.add(settled(candidate))
      if group.isFull { try takeGroup() }
    }
    if !isStopped() { try handOff.take(group.removeAll()) }
    try handOff.finish()
  }

  /// Takes the files that have gathered; then the thread may do other work, once
  /// the catalog knows all that there is to know of them.
  private func takeGroup() throws(IngestError) {
    try handOff.take(group.removeAll())
    guard interlude.isDue() else { return }
    try handOff.finish()
    interlude.run()
  }

  private func compare(now: Timestamp) throws(IngestError) -> SourceComparison {
    do {
      let cursor = try library.catalog.sightings(of: source.root)
      let scan = try SourceScan(
        source.folder, rules: SourceRules(configuration), isRecursive: configuration.recursive,
        library: library.folders)
      return try SourceComparison(scan: scan, cursor: cursor, source: source, now: now)
    } catch let error as CatalogError {
      throw IngestError(error)
    } catch let error as FileError {
      throw IngestError(.source, error.message, path: source.root, cause: error)
    } catch let error as IngestError {
      throw error
    } catch {
      throw IngestError(.source, "\(error)", path: source.root, cause: error)
    }
  }

  /// Whether a file was touched within the settle window, or in the future.
  private func isFresh(_ candidate: Candidate, now: Timestamp) -> Bool {
    guard configuration.complete == .quiet else { return false }
    let age = now.microseconds - candidate.identity.changed / 1000
    return age < Int64(configuration.settle.milliseconds) * 1000
  }

  /// The candidate for its second look: the whole identity must be what it was,
  /// which `Examination` finds out from the size, the inode and both times.
  private func settled(_ candidate: Candidate) -> Candidate {
    var candidate = candidate
    candidate.mustBeQuiet = true
    return candidate
  }
}
