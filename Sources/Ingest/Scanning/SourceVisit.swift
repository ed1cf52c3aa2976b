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
  var settledAt: ContinuousClock.Instant
  /// Why nothing was recorded about files that are missing, if there were too many.
  private(set) var refusal: IngestError?

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
    source = try IngestSource.open(configuration, for: library)
    do throws(FileError) {
      handOff = try HandOff(
        library: library, source: source, report: report, isStopped: isStopped)
    } catch {
      throw IngestSource.missing(configuration, error)
    }
    settledAt = ContinuousClock().now + configuration.settle.duration
  }

  /// Compares the source with the catalog; takes what is complete at once.
  func scan(isStopped: @Sendable () -> Bool) throws(IngestError) {
    let now = Timestamp.now
    var comparison = try SourceComparison(
      of: source, configuration: configuration, with: library, now: now)
    var missing = MissingShare(allowed: configuration.maxMissing, renames: handOff.renames)
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
      case .missing(let sighting):
        missing.add(sighting.path)
      case .changed(let sighting):
        try handOff.note(sighting)
      case .restored(let sighting):
        try handOff.noteRestored(sighting)
      }
    }
    if !isStopped() { try group.take(by: handOff) }
    // A scan that was broken off does not know how many files there ought to be.
    if !isStopped() {
      refusal = try handOff.settle(
        missing, of: comparison.expected, configuration: configuration)
    }
    try handOff.finish()
  }

  /// Waits for the end of the settle window and takes what was quiet in it.
  func takeSettled(isStopped: @Sendable () -> Bool) throws(IngestError) {
    guard !fresh.isEmpty else { return }
    while ContinuousClock().now < settledAt, !isStopped() {
      if interlude.isDue() { try interlude.run() }
      usleep(20_000)
    }
    for candidate in fresh {
      if isStopped() { break }
      group.add(settled(candidate))
      if group.isFull { try takeGroup() }
    }
    if !isStopped() { try group.take(by: handOff) }
    try handOff.finish()
  }

  /// Takes the files that have gathered; then the thread may do other work, once
  /// the catalog knows all that there is to know of them.
  private func takeGroup() throws(IngestError) {
    try group.take(by: handOff)
    guard interlude.isDue() else { return }
    try handOff.finish()
    try interlude.run()
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
