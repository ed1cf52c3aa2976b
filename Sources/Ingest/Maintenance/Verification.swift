package import Catalog
import Files
import Originals
package import PipelineModel

/// How far a verification came.
package struct VerificationOutcome: Hashable, Sendable {
  /// The number of files read.
  package var checked = 0
  /// Whether everything was checked.
  package var isComplete = false
  /// Why the position for the next verification could not be saved.
  package var unsaved: String?
  /// Why the list of what is damaged could not be kept.
  package var unlisted: String?
}

/// Compares manifest, catalog and disk; changes nothing.
///
/// Originals and renditions are read page by page in key order, so that no snapshot of the catalog
/// is held for long, and a position in that order suffices to resume. Whole comparisons work part
/// by part, so that memory does not grow with the library.
package struct Verification {
  let library: LibraryFolder
  let catalog: CatalogReader
  let originals: any OriginalStore
  static let pageSize = 256
  /// How often the position is saved while time is limited.
  private static let saveInterval = Duration.seconds(10)

  package init(library: LibraryFolder, catalog: CatalogReader) throws(IngestError) {
    self.library = library
    self.catalog = catalog
    originals = try translating { try library.openOriginals() }
  }

  /// One pass over the library, or a part of it.
  final class Pass {
    var place: VerificationResumePoint
    var damage: DamageList
    var outcome = VerificationOutcome()
    let deadline: ContinuousClock.Instant?
    let isStopped: () -> Bool
    let progress: (VerificationStep) -> Void
    var lastSave = ContinuousClock().now
    /// Originals that were missing while another process worked on the library, which may just have
    /// been returning them.
    var doubtful: [(digest: Digest, size: Int)] = []

    init(
      from place: VerificationResumePoint, damage: DamageList, deadline: ContinuousClock.Instant?,
      isStopped: @escaping () -> Bool, progress: @escaping (VerificationStep) -> Void
    ) {
      self.place = place
      self.damage = damage
      self.deadline = deadline
      self.isStopped = isStopped
      self.progress = progress
    }

    func count() {
      outcome.checked += 1
      progress(.files(outcome.checked))
    }

    /// Whether to stop; never before one file was read.
    var isOver: Bool {
      isStopped() || outcome.checked > 0 && deadline.map { ContinuousClock().now >= $0 } == true
    }

    /// Reports the next step of a comparison, which ignores the deadline.
    ///
    /// - Throws: `FileError` of code `stopped` if the user asked to stop.
    func begin(_ step: VerificationStep, in folder: BytePath) throws(FileError) {
      if isStopped() { throw .stopped(folder) }
      progress(step)
    }
  }

  /// Checks everything, or as much as time allows.
  ///
  /// With a limit, it resumes where the last one that was limited or stopped ended, as saved.
  ///
  /// - Parameters:
  ///   - limit: the time to use; unlimited by default.
  ///   - isStopped: whether to stop early; called every 2 MiB.
  ///   - progress: called with each step.
  @discardableResult
  package func run(
    limit: TimeSpan? = nil, isStopped: @escaping () -> Bool = { false },
    progress: @escaping (VerificationStep) -> Void = { _ in },
    _ report: (VerificationProblem) -> Void
  ) throws(IngestError) -> VerificationOutcome {
    try translating {
      let place = limit == nil ? .start : VerificationResumePoint.read(in: library)
      let deadline = limit.map { ContinuousClock().now + $0.duration }
      let pass = Pass(
        from: place, damage: .read(in: library), deadline: deadline, isStopped: isStopped,
        progress: progress)
      let report = { (problem: VerificationProblem) in
        pass.damage.note(problem)
        report(problem)
      }
      var failure: (any Error)?
      do {
        try checkOriginals(pass, report)
        try checkRenditions(pass, report)
        try recheckDoubtful(pass, report)
        if pass.place.isEnd {
          try compareOriginals(pass, report)
          try compareCatalog(pass, report)
          try checkLeftovers(pass, report)
          try pass.damage.forgetFormer(in: catalog)
          pass.outcome.isComplete = true
        }
      } catch let error as FileError where error.code == .stopped {
        // The next verification resumes after the files read, and compares from the start.
      } catch {
        failure = error
      }
      // Even if the disk is too damaged to go on, what was found so far is kept.
      pass.outcome.unlisted = pass.damage.save(in: library)
      if let failure { throw failure }
      if pass.outcome.isComplete {
        pass.outcome.unsaved = VerificationResumePoint.forget(in: library)
      } else {
        pass.outcome.unsaved = pass.place.save(in: library)
      }
      return pass.outcome
    }
  }

  /// Counts a file, and saves damage and position regularly, so that a kill does not lose them.
  func advance(_ pass: Pass, to next: VerificationResumePoint.Next) {
    pass.place.next = next
    pass.count()
    guard ContinuousClock().now - pass.lastSave > Self.saveInterval else { return }
    pass.lastSave = ContinuousClock().now
    _ = pass.damage.save(in: library)
    if pass.deadline != nil { _ = pass.place.save(in: library) }
  }

  /// Whether another process works on the library.
  var isLocked: Bool {
    get throws(FileError) { try FileLock.isHeld(LibraryLayout.lock, in: library.folder) }
  }

  /// The assets with these bytes, at most 100, for a problem.
  func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    Array(try catalog.assets(with: digest).prefix(100))
  }
}
