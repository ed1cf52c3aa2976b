package import Catalog
import Files
import Manifest
import Originals
package import PipelineModel

/// Something that is not as it should be in a library.
package struct VerificationProblem: Hashable, Codable, Sendable {
  package enum Kind: String, Hashable, Codable, Sendable {
    /// A record's original is not there.
    case originalMissing = "original-missing"
    /// An original's bytes, read twice, don't hash to its name.
    case originalDamaged = "original-damaged"
    /// An original that no record refers to.
    case originalUnrecorded = "original-unrecorded"
    /// A file in `originals/` that is no original.
    case foreignFile = "foreign-file"
    /// A rendition's bytes are not there.
    case renditionMissing = "rendition-missing"
    /// A rendition's bytes don't hash to what was recorded.
    case renditionDamaged = "rendition-damaged"
    /// The manifest has an asset that the catalog lacks, or another way round.
    case catalogDiffers = "catalog-differs"
    /// A file in `incoming/` while nobody works on the library.
    case incomingLeftover = "incoming-leftover"
    /// A file or folder in `work/` while nobody works on the library.
    case workLeftover = "work-leftover"
    /// A file in `renditions/` that no record names, while nobody works on the library.
    case renditionUnrecorded = "rendition-unrecorded"
  }

  package var kind: Kind
  package var digest: Digest?
  package var path: BytePath?
  /// A sentence for people.
  package var message: String
  /// The key of the rendition that it is about.
  package var rendition: Int64?
}

/// How far a verification came.
package struct VerificationOutcome: Hashable, Sendable {
  /// How many files were read.
  package var checked = 0
  /// Whether nothing is left to be checked.
  package var isComplete = false
  /// Why the place could not be kept from which the next one is to go on.
  package var unsaved: String?
}

/// Compares manifest, catalog and disk with each other; changes nothing.
///
/// Originals and renditions are read page by page in the order of their keys, so
/// that no snapshot of the catalog is held for long, and a place in that order is
/// all that is needed to go on later.
package struct Verification {
  let library: LibraryFolder
  let catalog: CatalogReader
  private let originals: any OriginalStore
  private static let pageSize = 256
  /// How often the place is kept while time is limited.
  private static let saveInterval = Duration.seconds(10)

  package init(library: LibraryFolder, catalog: CatalogReader) throws(IngestError) {
    self.library = library
    self.catalog = catalog
    originals = try translating {
      try FolderStore(root: library.layout.originals, damaged: library.layout.damaged)
    }
  }

  /// One run over the library, or a part of it.
  private final class Pass {
    var place: VerificationPlace
    var outcome = VerificationOutcome()
    let deadline: ContinuousClock.Instant?
    let isStopped: () -> Bool
    let progress: (Int) -> Void
    var lastSave = ContinuousClock().now
    /// Originals that were not there while somebody worked on the library, who may
    /// just have been giving them back.
    var doubtful: [(digest: Digest, size: Int)] = []

    init(
      from place: VerificationPlace, deadline: ContinuousClock.Instant?,
      isStopped: @escaping () -> Bool, progress: @escaping (Int) -> Void
    ) {
      self.place = place
      self.deadline = deadline
      self.isStopped = isStopped
      self.progress = progress
    }

    /// Counts a file that was read.
    func count() {
      outcome.checked += 1
      progress(outcome.checked)
    }

    /// Whether to leave the rest; never before one file was read.
    var isOver: Bool {
      isStopped() || outcome.checked > 0 && deadline.map { ContinuousClock().now >= $0 } == true
    }
  }

  /// Checks everything, or as much as there is time for.
  ///
  /// With a limit it goes on where the last one that was limited or stopped
  /// ended; that place is kept in the library.
  ///
  /// - Parameters:
  ///   - limit: the time to use; none for all that it takes.
  ///   - isStopped: whether to leave the rest; asked for each mebibyte.
  ///   - progress: told how many files were read.
  @discardableResult
  package func run(
    limit: TimeSpan? = nil, isStopped: @escaping () -> Bool = { false },
    progress: @escaping (Int) -> Void = { _ in }, _ report: (VerificationProblem) -> Void
  ) throws(IngestError) -> VerificationOutcome {
    try translating {
      let place = limit == nil ? .start : VerificationPlace.read(in: library)
      let deadline = limit.map { ContinuousClock().now + $0.duration }
      let pass = Pass(
        from: place, deadline: deadline, isStopped: isStopped, progress: progress)
      try checkOriginals(pass, report)
      try checkRenditions(pass, report)
      for (digest, size) in pass.doubtful {
        _ = try checkOriginal(digest, size, pass.isStopped, report)
      }
      if pass.place.isEnd {
        try checkUnrecordedOriginals(report)
        try checkManifest(report)
        try checkLeftovers(report)
        pass.outcome.isComplete = true
      }
      if pass.outcome.isComplete {
        pass.outcome.unsaved = VerificationPlace.forget(in: library)
      } else {
        pass.outcome.unsaved = pass.place.save(in: library)
      }
      return pass.outcome
    }
  }

  /// Keeps the place every now and then, so that a kill does not lose all of it.
  private func saveSometimes(_ pass: Pass) {
    guard pass.deadline != nil, ContinuousClock().now - pass.lastSave > Self.saveInterval else {
      return
    }
    pass.lastSave = ContinuousClock().now
    _ = pass.place.save(in: library)
  }

  private func checkOriginals(
    _ pass: Pass, _ report: (VerificationProblem) -> Void
  ) throws {
    while case .originals(let last) = pass.place.next {
      let page = try catalog.originals(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .renditions(after: 0) }
      for (digest, size) in page {
        if pass.isOver { return }
        let isRead = try checkOriginal(digest, size, pass.isStopped) { problem in
          // Where nobody can say whether a process is at work, it is told at once.
          if problem.kind == .originalMissing, (try? isLocked) == true {
            // Looked at once more at the end.
            pass.doubtful.append((digest, size))
          } else {
            report(problem)
          }
        }
        guard isRead else { return }
        pass.place.next = .originals(after: digest)
        pass.count()
        saveSometimes(pass)
      }
    }
  }

  /// - Returns: whether it was read to its end.
  private func checkOriginal(
    _ digest: Digest, _ size: Int, _ isStopped: @escaping () -> Bool,
    _ report: (VerificationProblem) -> Void
  ) throws -> Bool {
    let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
    var problem = VerificationProblem(
      kind: .originalDamaged, digest: digest, path: path, message: "")
    guard let condition = try condition(of: digest, isStopped) else { return false }
    switch condition {
    case .whole(let actual) where actual == size:
      return true
    case .missing:
      problem.kind = .originalMissing
      problem.message = "“\(path.printable)” is missing; an import of its file puts it back."
    case .whole(let actual):
      problem.message =
        "“\(path.printable)” has \(actual) bytes, the catalog says \(size)."
    case .damaged(let actual, _):
      problem.message =
        "“\(path.printable)” hashes to \(actual); an import of a good copy heals it."
    case .unreadable(let error):
      problem.message = error.message
    }
    // It may have been given back, or deleted, since the page was read.
    if try catalog.hasOriginal(digest) { report(problem) }
    return true
  }

  /// What reading an original shows, or `nil` if the user asked to stop.
  private func condition(
    of digest: Digest, _ isStopped: @escaping () -> Bool
  ) throws(FileError) -> OriginalCondition? {
    do throws(FileError) {
      return try originals.verify(digest, isStopped: isStopped)
    } catch {
      if error.code == .stopped { return nil }
      throw error
    }
  }

  private func checkUnrecordedOriginals(
    _ report: (VerificationProblem) -> Void
  ) throws {
    var recorded: Set<Digest> = []
    var unrecorded: Set<Digest> = []
    try catalog.originals { digest, _ in recorded.insert(digest) }
    try originals.forEach { entry throws(FileError) in
      switch entry {
      case .original(let digest, _):
        if !recorded.contains(digest) { unrecorded.insert(digest) }
      case .foreign(let path):
        report(
          .init(
            kind: .foreignFile, digest: nil, path: path,
            message: "“\(path.printable)” is no original."))
      case .unreadable(let error):
        report(
          .init(kind: .foreignFile, digest: nil, path: error.path, message: error.message))
      }
    }
    // A run beside this may have stored them since, and record them in a moment.
    guard try !isLocked else { return }
    // What was deleted for good waits for `gc`.
    let manifest = try Manifest(folder: library.layout.manifest)
    unrecorded.subtract(try Deletions(manifest: manifest).deleted(among: unrecorded))
    for digest in unrecorded.sorted(by: { $0.hex < $1.hex })
    where try catalog.assets(with: digest).isEmpty {
      let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
      report(
        .init(
          kind: .originalUnrecorded, digest: digest, path: path,
          message: "No record refers to “\(path.printable)”."))
    }
  }

  private func checkRenditions(
    _ pass: Pass, _ report: (VerificationProblem) -> Void
  ) throws {
    let reader = RenditionReader(library: library, catalog: catalog)
    while case .renditions(let last) = pass.place.next {
      let page = try catalog.renditions(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .end }
      for rendition in page {
        if pass.isOver { return }
        try check(rendition, with: reader, report)
        pass.place.next = .renditions(after: rendition.id)
        pass.count()
        saveSometimes(pass)
      }
    }
  }

  private func check(
    _ rendition: RenditionRecord, with reader: RenditionReader,
    _ report: (VerificationProblem) -> Void
  ) throws {
    let path = rendition.path.map { library.layout.root.appending($0) }
    let name = path?.printable ?? "\(rendition.stage)/\(rendition.name) in the catalog"
    var problem = VerificationProblem(
      kind: .renditionMissing, digest: rendition.digest, path: path,
      message: "“\(name)” is missing; `pipeline verify --repair` makes it again.",
      rendition: rendition.id)
    if let bytes = try reader.bytes(of: rendition) {
      if reader.isWhole(bytes, rendition) { return }
      problem.kind = .renditionDamaged
      problem.message =
        "“\(name)” is not what was made; `pipeline verify --repair` makes it again."
    }
    // It may have been replaced, or moved, since the page was read.
    if try catalog.rendition(rendition.id) == rendition { report(problem) }
  }

  private func checkManifest(_ report: (VerificationProblem) -> Void) throws {
    let manifest = try Manifest(folder: library.layout.manifest)
    let position = try catalog.lastManifestPosition
    guard position <= manifest.lastSequence else {
      return report(
        .init(
          kind: .catalogDiffers, digest: nil, path: library.layout.manifest,
          message: "The catalog knows \(position) facts, the manifest only "
            + "\(manifest.lastSequence)."))
    }
    var expected: [AssetID: Digest] = [:]
    try manifest.replay(after: 0) { entry throws(ManifestError) in
      guard entry.sequence <= position else { return }
      switch entry.fact {
      case .stored(let stored): expected[stored.asset] = stored.digest
      case .purged(let asset, _): expected[asset] = nil
      case .returned(let back): expected[back.asset] = nil
      default: return
      }
    }
    for (id, digest) in expected.sorted(by: { $0.key < $1.key })
    where try catalog.asset(id)?.digest != digest {
      // It may have been deleted since.
      guard try catalog.lastManifestPosition == position else { return }
      report(
        .init(
          kind: .catalogDiffers, digest: digest, path: nil,
          message: "The manifest has the asset \(id), the catalog has not."))
    }
    try checkCatalog(against: expected, at: position, report)
  }

  /// Reports assets that the manifest never had, or has deleted.
  private func checkCatalog(
    against expected: [AssetID: Digest], at position: Int64,
    _ report: (VerificationProblem) -> Void
  ) throws {
    // What a process at work records meanwhile is in the manifest behind the position.
    guard try !isLocked else { return }
    var unknown: [(AssetID, Digest)] = []
    try catalog.assets { asset in
      if expected[asset.id] == nil { unknown.append((asset.id, asset.digest)) }
    }
    guard try !isLocked, try catalog.lastManifestPosition == position else { return }
    for (id, digest) in unknown {
      report(
        .init(
          kind: .catalogDiffers, digest: digest, path: nil,
          message: "The catalog has the asset \(id), the manifest has not, or has deleted it; "
            + "`pipeline rebuild-catalog` goes by the manifest."))
    }
  }
}
