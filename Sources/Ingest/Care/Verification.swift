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
}

/// Compares manifest, catalog and disk with each other; changes nothing.
package struct Verification {
  let library: LibraryFolder
  let catalog: CatalogReader
  private let originals: any OriginalStore

  package init(library: LibraryFolder, catalog: CatalogReader) throws(IngestError) {
    self.library = library
    self.catalog = catalog
    originals = try translating {
      try FolderStore(root: library.layout.originals, damaged: library.layout.damaged)
    }
  }

  /// Checks everything.
  ///
  /// - Returns: how many files were checked.
  package func run(_ report: (VerificationProblem) -> Void) throws(IngestError) -> Int {
    try translating {
      var checked = try checkOriginals(report)
      checked += try checkRenditions(report)
      try checkManifest(report)
      try checkLeftovers(report)
      return checked
    }
  }

  private func checkOriginals(_ report: (VerificationProblem) -> Void) throws -> Int {
    var recorded: Set<Digest> = []
    var unrecorded: [Digest] = []
    var checked = 0
    try catalog.originals { digest, size in
      recorded.insert(digest)
      checked += 1
      let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
      switch try originals.verify(digest) {
      case .whole(let actual) where actual == size:
        break
      case .missing:
        report(
          .init(
            kind: .originalMissing, digest: digest, path: path,
            message: "“\(path.printable)” is missing."))
      case .whole(let actual):
        report(
          .init(
            kind: .originalDamaged, digest: digest, path: path,
            message: "“\(path.printable)” has \(actual) bytes, the catalog says \(size)."))
      case .damaged(let actual, _):
        report(
          .init(
            kind: .originalDamaged, digest: digest, path: path,
            message: "“\(path.printable)” hashes to \(actual)."))
      case .unreadable(let error):
        report(
          .init(kind: .originalDamaged, digest: digest, path: path, message: error.message))
      }
    }
    try originals.forEach { entry throws(FileError) in
      switch entry {
      case .original(let digest, _):
        if !recorded.contains(digest) { unrecorded.append(digest) }
      case .foreign(let path):
        report(
          .init(
            kind: .foreignFile, digest: nil, path: path,
            message: "“\(path.printable)” is no original."))
      }
    }
    // A run beside this may have stored them since, and record them in a moment.
    guard try !isLocked else { return checked }
    for digest in unrecorded where try catalog.assets(with: digest).isEmpty {
      let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
      report(
        .init(
          kind: .originalUnrecorded, digest: digest, path: path,
          message: "No record refers to “\(path.printable)”."))
    }
    return checked
  }

  private func checkRenditions(_ report: (VerificationProblem) -> Void) throws -> Int {
    let reader = RenditionReader(library: library, catalog: catalog)
    var checked = 0
    try catalog.allRenditions { rendition in
      checked += 1
      let path = rendition.path.map { library.layout.root.appending($0) }
      let name = path?.printable ?? "\(rendition.stage)/\(rendition.name) in the catalog"
      guard let bytes = try reader.bytes(of: rendition) else {
        return report(
          .init(
            kind: .renditionMissing, digest: rendition.digest, path: path,
            message: "“\(name)” is missing; it can be made again."))
      }
      guard reader.isWhole(bytes, rendition) else {
        return report(
          .init(
            kind: .renditionDamaged, digest: rendition.digest, path: path,
            message: "“\(name)” is not what was made; it can be made again."))
      }
    }
    return checked
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
    var missing: [(AssetID, Digest)] = []
    try manifest.replay(after: 0) { entry throws(ManifestError) in
      guard entry.sequence <= position, case .stored(let stored) = entry.fact else { return }
      missing.append((stored.asset, stored.digest))
    }
    for (id, digest) in missing where try catalog.asset(id)?.digest != digest {
      report(
        .init(
          kind: .catalogDiffers, digest: digest, path: nil,
          message: "The manifest has the asset \(id), the catalog has not."))
    }
  }
}
