import Files
import Glibc
import PipelineModel
import Renditions

/// The renditions that are files of the library.
struct RenditionFolderTree: RenditionTree {
  /// The library's folder.
  let folder: Descriptor

  let root = BytePath(RenditionLayout.root)

  let isFormer = false

  func size(of path: BytePath) throws(FileError) -> Int? {
    do throws(FileError) {
      return try folder.status(below: path).identity.size
    } catch let error where error.errno == ENOENT {
      return nil
    }
  }

  func remove(_ path: BytePath) throws(FileError) { try folder.removeIfThere(path) }

  /// Removes empty folders from the leaves up, except the root.
  func removeEmptyFolders() {
    var all = [root]
    var next = 0
    while next < all.count {
      // An unreadable folder is not known to be empty.
      if let inner = try? look(into: all[next]) { all += inner.folders }
      next += 1
    }
    for path in all.dropFirst().reversed() {
      do throws(FileError) {
        try folder.openParent(of: path).removeFolder(path.lastComponent)
      } catch {
        // Not empty, or not removable, which is harmless.
        continue
      }
    }
  }

  func look(
    into path: BytePath
  ) throws(FileError) -> (folders: [BytePath], others: [BytePath]) {
    let folder = try Descriptor.openFolder(
      path.lastComponent, in: folder.openParent(of: path), followsLinks: false)
    var (folders, others): ([BytePath], [BytePath]) = ([], [])
    for entry in try folder.entries() {
      let inner = path.appending(entry.name)
      // The pictures made on demand have no records; `PictureCache` looks after them.
      if inner == root.appending(PictureCache.name) { continue }
      if try isFolder(entry, in: folder) { folders.append(inner) } else { others.append(inner) }
    }
    return (folders, others)
  }

  private func isFolder(_ entry: FolderEntry, in folder: Descriptor) throws(FileError) -> Bool {
    if let kind = entry.kind { return kind == .folder }
    return try folder.statusIfThere(of: entry.name)?.kind == .folder
  }
}

/// The renditions that are objects of a bucket: those with names of renditions, as others may have put other things there.
struct RenditionBucketTree: RenditionTree {
  let bucket: RenditionBucket
  /// Whether new ones go elsewhere.
  let isFormer: Bool

  var root: BytePath { BytePath(bucket.place) }

  func look(
    into path: BytePath
  ) throws(FileError) -> (folders: [BytePath], others: [BytePath]) {
    let depth = path.relative(to: root)?.components.count ?? 0
    var (folders, others): ([BytePath], [BytePath]) = ([], [])
    for name in try bucket.names(below: path.description) {
      if name.hasSuffix("/") {
        let folder = String(name.dropLast())
        if depth == 0 || depth == 1 && RenditionLayout.isFolderOfOwners(folder) {
          folders.append(path.appending(folder))
        }
      } else if depth == 2, RenditionLayout.isName(name) {
        others.append(path.appending(name))
      }
    }
    return (folders, others)
  }

  func size(of path: BytePath) throws(FileError) -> Int? {
    try bucket.size(of: path.description)
  }

  func remove(_ path: BytePath) throws(FileError) { try bucket.remove(path.description) }
}

extension RenditionPlaces {
  /// The trees with renditions of a library, those of the folder first.
  func trees(in library: Descriptor) -> [any RenditionTree] {
    let current = bucket.map { RenditionBucketTree(bucket: $0, isFormer: false) }
    return [RenditionFolderTree(folder: library)] + [current].compactMap(\.self)
      + former.map { RenditionBucketTree(bucket: $0, isFormer: true) }
  }
}
