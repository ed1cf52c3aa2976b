import Catalog
import Files
import Manifest
import Originals
import PipelineModel
import Records
import Renditions

/// Finds what nothing in a library needs any more; changes nothing.
struct GarbageSurvey {
  let trees: [any RenditionTree]
  let catalog: CatalogReader
  let manifest: Manifest
  let originals: any OriginalStore

  /// The number of deleted originals, or of renditions, examined together.
  static let pageSize = 4096

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
  func deletedOriginals(after sequence: Int64) throws -> DeletedOriginals {
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

  /// The size of an original, or `nil` if it is gone.
  private func size(of digest: Digest) -> Int? {
    do throws(FileError) {
      return try originals.size(of: digest)
    } catch {
      // One that can't be examined counts as 0 bytes; its removal reports why.
      return 0
    }
  }

  /// Rendition files that no record names and no job is about to make.
  ///
  /// - Parameter onFailure: called for each folder that can't be looked into; nothing of it is garbage.
  func unnamedFiles(
    onFailure: (FileError) -> Void = { _ in }
  ) throws -> [(tree: any RenditionTree, path: BytePath, size: Int)] {
    var found: [(tree: any RenditionTree, path: BytePath, size: Int)] = []
    for tree in trees {
      for path in try RenditionFiles(tree: tree, catalog: catalog).unnamed(onFailure: onFailure) {
        do throws(FileError) {
          if let size = try tree.size(of: path) { found.append((tree, path, size)) }
        } catch {
          onFailure(error)
        }
      }
    }
    return found
  }
}
