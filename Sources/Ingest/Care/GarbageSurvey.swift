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

  /// How many deleted originals are looked at together.
  private static let pageSize = 4096

  /// Some of the originals that were deleted for good.
  struct DeletedOriginals {
    /// Those that are there and that nothing refers to, with their sizes.
    var garbage: [(digest: Digest, size: Int)] = []
    /// All of the page: once the garbage is removed, none of them is to be looked at again.
    var listed: [DeletedOriginal] = []
  }

  /// Returns the next deleted originals, in the order of their facts in the manifest.
  ///
  /// The catalog lists them. The manifest has the last word: it must hold the very fact, and
  /// behind it nothing that refers to the bytes.
  ///
  /// - Parameter sequence: the place of the last fact of the page before.
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
      // What can't be looked at counts for nothing; its removal says why.
      return error.code == .notFound ? nil : 0
    }
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
