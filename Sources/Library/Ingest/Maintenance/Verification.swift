package import Catalog
import Files
import Originals
package import PipelineModel
import Records

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
/// Everything is read page by page in key order, so that no snapshot of the catalog is held for long,
/// and a position in that order suffices to resume reading originals and renditions. Whole
/// comparisons work part by part, so that memory does not grow with the library.
package struct Verification {
  let library: LibraryFolder
  let catalog: CatalogReader
  let originals: any OriginalStore
  static let pageSize = 256
  /// How often the position is saved while time is limited.
  private static let saveInterval = Duration.seconds(10)

  package init(library: LibraryFolder, catalog: CatalogReader) throws {
    self.library = library
    self.catalog = catalog
    originals = try library.openOriginals()
  }

  /// One pass over the library, or a part of it.
  final class Pass {
    var place: VerificationResumePoint
    var damage: DamageList
    var outcome = VerificationOutcome()
    let deadline: ContinuousClock.Instant?
    let isStopped: @Sendable () -> Bool
    let progress: (VerificationStep) -> Void
    var lastSave = ContinuousClock().now
    /// Originals that were missing while another process worked on the library, which may just have
    /// been returning them.
    var doubtful: [(digest: Digest, size: Int)] = []

    init(
      from place: VerificationResumePoint, damage: DamageList, deadline: ContinuousClock.Instant?,
      isStopped: @escaping @Sendable () -> Bool, progress: @escaping (VerificationStep) -> Void
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
    limit: TimeSpan? = nil, isStopped: @escaping @Sendable () -> Bool = { false },
    progress: @escaping (VerificationStep) -> Void = { _ in },
    _ report: (VerificationProblem) -> Void
  ) throws -> VerificationOutcome {
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
    pass.outcome.unlisted = pass.damage.save(in: library.folder)
    if let failure { throw failure }
    if pass.outcome.isComplete {
      pass.outcome.unsaved = VerificationResumePoint.forget(in: library)
    } else {
      pass.outcome.unsaved = pass.place.save(in: library)
    }
    return pass.outcome
  }

  /// Counts a file, and saves damage and position regularly, so that a kill does not lose them.
  func advance(_ pass: Pass, to next: VerificationResumePoint.Next) {
    pass.place.next = next
    pass.count()
    guard ContinuousClock().now - pass.lastSave > Self.saveInterval else { return }
    pass.lastSave = ContinuousClock().now
    _ = pass.damage.save(in: library.folder)
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

package enum VerificationStep: Hashable, Sendable {
  /// This many originals and renditions were read.
  case files(Int)
  /// This many of the 256 folders of originals were compared with the records.
  case folders(Int)
  /// This many facts of the manifest were compared with the records.
  case facts(Int64, of: Int64)
  /// This many folders of renditions were compared with the records.
  case renditionFolders(Int)
}

/// Something wrong in a library.
package struct VerificationProblem: Hashable, Codable, Sendable {
  package enum Kind: String, Hashable, Codable, Sendable {
    case originalMissing = "original-missing"
    /// An original's bytes, read twice, don't hash to its name, or can't be read.
    case originalDamaged = "original-damaged"
    /// An original that no record refers to.
    case originalUnrecorded = "original-unrecorded"
    /// A file in `originals/` that is not an original.
    case foreignFile = "foreign-file"
    case renditionMissing = "rendition-missing"
    /// A rendition's bytes don't hash to the recorded digest, or can't be read.
    case renditionDamaged = "rendition-damaged"
    /// The manifest has an asset that the catalog lacks, or vice versa.
    case catalogDiffers = "catalog-differs"
    /// A file in `incoming/` while no process works on the library.
    case incomingLeftover = "incoming-leftover"
    /// A file or folder in `work/` while no process works on the library.
    case workLeftover = "work-leftover"
    /// A file in `renditions/` without a record, while no process works on the library.
    case renditionUnrecorded = "rendition-unrecorded"
    /// A file or folder of the library that can't be examined.
    case unreadable

    /// Whether `Repair` can help.
    package var isRepairable: Bool {
      switch self {
      case .originalDamaged, .renditionMissing, .renditionDamaged, .incomingLeftover, .workLeftover,
        .renditionUnrecorded, .originalUnrecorded, .originalMissing:
        true
      case .foreignFile, .catalogDiffers, .unreadable: false
      }
    }
  }

  package var kind: Kind
  package var digest: Digest?
  package var path: BytePath?
  /// A sentence for people.
  package var message: String
  /// The key of the rendition concerned.
  package var rendition: Int64?
  /// The assets concerned, if known; at most 100.
  package var assets: [AssetID] = []
}
