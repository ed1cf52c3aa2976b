import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// Finds what nothing in a library needs any more; changes nothing.
struct GarbageSurvey {
  let folder: Descriptor
  let catalog: CatalogReader
  let manifest: Manifest
  let originals: any OriginalStore

  /// Originals that were deleted for good and that nothing refers to, with their sizes.
  func deletedOriginals() throws(IngestError) -> [(digest: Digest, size: Int)] {
    let unrecorded = try translating { try unrecordedOriginals() }
    let deleted = try Deletions(manifest: manifest).deleted(among: Set(unrecorded.keys))
    return unrecorded.filter { deleted.contains($0.key) }.map { ($0.key, $0.value) }
      .sorted { $0.digest.hex < $1.digest.hex }
  }

  private func unrecordedOriginals() throws -> [Digest: Int] {
    var found: [Digest: Int] = [:]
    try originals.forEach { entry throws(FileError) in
      if case .original(let digest, let status) = entry { found[digest] = status.identity.size }
    }
    try catalog.originals { digest, _ in found[digest] = nil }
    return found
  }

  /// Files of renditions that no record names and no job is about to make.
  func unnamedFiles() throws(IngestError) -> [(path: BytePath, size: Int)] {
    try translating {
      let files = RenditionFiles(folder: folder, catalog: catalog)
      var found: [(path: BytePath, size: Int)] = []
      for path in try files.unnamed(withDue: false) {
        if let size = try size(of: path) { found.append((path, size)) }
      }
      return found
    }
  }

  /// The size of a file below the library, or `nil` if it is gone.
  private func size(of path: BytePath) throws(FileError) -> Int? {
    do throws(FileError) {
      return try folder.openParent(of: path).status(of: path.lastComponent).identity.size
    } catch let error where error.code == .notFound {
      return nil
    }
  }
}
