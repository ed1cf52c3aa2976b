package import Catalog
import Files
import Originals
package import PipelineModel

/// How far a verification came.
package struct VerificationOutcome: Hashable, Sendable {
  /// How many files were read.
  package var checked = 0
  /// Whether nothing is left to be checked.
  package var isComplete = false
  /// Why the place could not be kept from which the next one is to go on.
  package var unsaved: String?
  /// Why the list of what is damaged could not be kept.
  package var unlisted: String?
}

/// Compares manifest, catalog and disk with each other; changes nothing.
///
/// Originals and renditions are read page by page in the order of their keys, so
/// that no snapshot of the catalog is held for long, and a place in that order is
/// all that is needed to go on later. What is compared as a whole is compared part
/// by part, so that the memory does not grow with the library.
package struct Verification {
  let library: LibraryFolder
  let catalog: CatalogReader
  let originals: any OriginalStore
  static let pageSize = 256
  /// How often the place is kept while time is limited.
  private static let saveInterval = Duration.seconds(10)

  package init(library: LibraryFolder, catalog: CatalogReader) throws(IngestError) {
    self.library = library
    self.catalog = catalog
    originals = try translating { try library.openOriginals() }
  }

  /// One run over the library, or a part of it.
  final class Pass {
    var place: VerificationPlace
    var damage: DamageList
    var outcome = VerificationOutcome()
    let deadline: ContinuousClock.Instant?
    let isStopped: () -> Bool
    let progress: (VerificationStep) -> Void
    var lastSave = ContinuousClock().now
    /// Originals that were not there while somebody worked on the library, who may
    /// just have been giving them back.
    var doubtful: [(digest: Digest, size: Int)] = []

    init(
      from place: VerificationPlace, damage: DamageList, deadline: ContinuousClock.Instant?,
      isStopped: @escaping () -> Bool, progress: @escaping (VerificationStep) -> Void
    ) {
      self.place = place
      self.damage = damage
      self.deadline = deadline
      self.isStopped = isStopped
      self.progress = progress
    }

    /// Counts a file that was read.
    func count() {
      outcome.checked += 1
      progress(.files(outcome.checked))
    }

    /// Whether to leave the rest; never before one file was read.
    var isOver: Bool {
      isStopped() || outcome.checked > 0 && deadline.map { ContinuousClock().now >= $0 } == true
    }

    /// Tells what is done next of a comparison, which goes on whatever the deadline.
    ///
    /// - Throws: `FileError` of code `stopped` if the user asked to stop.
    func begin(_ step: VerificationStep, in folder: BytePath) throws(FileError) {
      if isStopped() { throw .stopped(folder) }
      progress(step)
    }
  }

  /// Checks everything, or as much as there is time for.
  ///
  /// With a limit it goes on where the last one that was limited or stopped
  /// ended; that place is kept in the library.
  ///
  /// - Parameters:
  ///   - limit: the time to use; none for all that it takes.
  ///   - isStopped: whether to leave the rest; asked for every two mebibytes.
  ///   - progress: told what is done.
  @discardableResult
  package func run(
    limit: TimeSpan? = nil, isStopped: @escaping () -> Bool = { false },
    progress: @escaping (VerificationStep) -> Void = { _ in },
    _ report: (VerificationProblem) -> Void
  ) throws(IngestError) -> VerificationOutcome {
    try translating {
      let place = limit == nil ? .start : VerificationPlace.read(in: library)
      let deadline = limit.map { ContinuousClock().now + $0.duration }
      let pass = Pass(
        from: place, damage: .read(in: library), deadline: deadline, isStopped: isStopped,
        progress: progress)
      let report = { (problem: VerificationProblem) in
        pass.damage.note(problem)
        report(problem)
      }
      do {
        try checkOriginals(pass, report)
        try checkRenditions(pass, report)
        try settleDoubtful(pass, report)
        if pass.place.isEnd {
          try compareOriginals(pass, report)
          try compareCatalog(pass, report)
          try checkLeftovers(pass, report)
          try pass.damage.forgetFormer(in: catalog)
          pass.outcome.isComplete = true
        }
      } catch let error as FileError where error.code == .stopped {
        // The next one compares anew, behind the files that were read.
      }
      if pass.outcome.isComplete {
        pass.outcome.unsaved = VerificationPlace.forget(in: library)
      } else {
        pass.outcome.unsaved = pass.place.save(in: library)
      }
      pass.outcome.unlisted = pass.damage.save(in: library)
      return pass.outcome
    }
  }

  /// Notes that a file was read, and keeps the place every now and then, so that a kill does not
  /// lose all of it.
  func advance(_ pass: Pass, to next: VerificationPlace.Next) {
    pass.place.next = next
    pass.count()
    guard pass.deadline != nil, ContinuousClock().now - pass.lastSave > Self.saveInterval else {
      return
    }
    pass.lastSave = ContinuousClock().now
    _ = pass.damage.save(in: library)
    _ = pass.place.save(in: library)
  }

  /// Whether somebody works on the library.
  var isLocked: Bool {
    get throws(FileError) { try FileLock.isHeld(LibraryLayout.lock, in: library.folder) }
  }

  /// The assets with these bytes, as a problem names them.
  func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    Array(try catalog.assets(with: digest).prefix(100))
  }
}
