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

  /// The number of deleted originals examined together.
  private static let pageSize = 4096

  /// A page of permanently deleted originals.
  struct DeletedOriginals {
    /// Those present and unreferenced, with their sizes.
    var garbage: [(digest: Digest, size: Int)] = []
    /// The whole page: once the garbage is removed, none of it need be examined again.
    var listed: [DeletedOriginal] = []
  }

  /// Returns the next deleted originals, in the order of their facts in the manifest.
  ///
  /// The catalog lists them, but the manifest decides: it must contain that very fact, and no later
  /// one that refers to the bytes.
  ///
  /// - Parameter sequence: the last fact of the previous page.
  func deletedOriginals(after sequence: Int64) throws(IngestError) -> DeletedOriginals {
    try translating {
      var page = DeletedOriginals()
      page.listed = try catalog.deletions(after: sequence, limit: Self.pageSize)
      let deleted = try Deletions(manifest: manifest).confirmed(among: page.listed)
      for original in page.listed where deleted.contains(original.digest) {
        guard try catalog.assets(with: original.digest).isEmpty,
          let size = size(of: original.digest)
        else { continue }
        page.garbage.append((original.digest, size))
      }
      return page
    }
  }

  /// The size of an original, or `nil` if it is gone.
  private func size(of digest: Digest) -> Int? {
    do throws(FileError) {
      return try FileSystem.status(of: originals.materialize(digest)).identity.size
    } catch {
      // One that can't be examined counts as 0 bytes; its removal reports why.
      return error.code == .notFound ? nil : 0
    }
  }

  /// Rendition files that no record names and no job is about to make.
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

  /// The size of a file in the library, or `nil` if it is gone.
  private func size(of path: BytePath) throws(FileError) -> Int? {
    do throws(FileError) {
      return try folder.openParent(of: path).status(of: path.lastComponent).identity.size
    } catch let error where error.code == .notFound {
      return nil
    }
  }
}
