import Catalog
import Files
import Glibc
import PipelineModel
import Records
import Renditions

/// The files below `renditions/`, compared with the catalog, folder by folder.
struct RenditionFiles {
  let folder: Descriptor
  let catalog: CatalogReader

  private static let root = BytePath("renditions")

  /// Files that no record names and no job may be making, as paths below the library, sorted.
  ///
  /// Skips unreadable folders: what nobody has seen must not be removed.
  func unnamed() throws -> [BytePath] {
    var unnamed: [BytePath] = []
    try forEachUnnamed { found in
      guard case .success(let path) = found else { return }
      if try isUnnamed(path) { unnamed.append(path) }
    }
    return unnamed.sorted()
  }

  /// Calls `body` with each file that no record names, as a path below the library, including files
  /// that a job may be making, and with an error for each unreadable folder.
  ///
  /// - Parameter step: called before each folder.
  func forEachUnnamed(
    step: () throws -> Void = {}, _ body: (Result<BytePath, FileError>) throws -> Void
  ) throws {
    var folders = [Self.root]
    while let path = folders.popLast() {
      try step()
      var unnamed: Set<BytePath> = []
      do throws(FileError) {
        // The folder before the catalog, so that what a run commits meanwhile has a record.
        let inner = try look(into: path)
        folders += inner.folders
        unnamed.formUnion(inner.others)
      } catch let error where error.errno == ENOENT {
        continue
      } catch {
        try body(.failure(error))
        continue
      }
      if let text = path.utf8, !unnamed.isEmpty {
        try catalog.renditionFiles(below: text) { unnamed.remove(BytePath($0)) }
      }
      for path in unnamed.sorted() {
        // Since its folder was read, it may have been recorded, or let go and removed.
        if try !isNamed(path), isThere(path) { try body(.success(path)) }
      }
    }
  }

  /// Whether no record names a file below `renditions/` and no job may be making it.
  func isUnnamed(_ path: BytePath) throws -> Bool {
    guard path.relative(to: Self.root) != nil else { return false }
    // In one snapshot: a job that ends in between would neither be due nor have a record.
    return try catalog.snapshot { try !isNamed(path) && !isDue(path) }
  }

  private func isNamed(_ path: BytePath) throws(CatalogError) -> Bool {
    guard let text = path.utf8 else { return false }
    return try catalog.namesRenditionFile(text)
  }

  private func isThere(_ path: BytePath) -> Bool {
    do throws(FileError) {
      _ = try folder.status(below: path)
      return true
    } catch {
      // One that can't be examined is there all the same.
      return error.errno != ENOENT
    }
  }

  /// Whether a job may be making a file, judging by its name: `RenditionLayout`.
  private func isDue(_ path: BytePath) throws(CatalogError) -> Bool {
    // A half-written file has a dot before its name.
    let parts = path.lastComponent.bytes.split(separator: UInt8(ascii: "."), maxSplits: 2)
    guard parts.count > 1, let owner = Hexadecimal.decode(Array(parts[0])),
      let fingerprint = Hexadecimal.decode(Array(parts[1]))
    else { return false }
    return try catalog.isRenditionDue(owner: owner, fingerprint: fingerprint)
  }

  /// Removes empty folders from the leaves up, except the root.
  func removeEmptyFolders() {
    var all = [Self.root]
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

  private func look(
    into path: BytePath
  ) throws(FileError) -> (folders: [BytePath], others: [BytePath]) {
    let folder = try Descriptor.openFolder(
      path.lastComponent, in: folder.openParent(of: path), followsLinks: false)
    var (folders, others): ([BytePath], [BytePath]) = ([], [])
    for entry in try folder.entries() {
      let inner = path.appending(entry.name)
      // The pictures made on demand have no records; `PictureCache` looks after them.
      if inner == Self.root.appending(PictureCache.name) { continue }
      if try isFolder(entry, in: folder) { folders.append(inner) } else { others.append(inner) }
    }
    return (folders, others)
  }

  private func isFolder(_ entry: FolderEntry, in folder: Descriptor) throws(FileError) -> Bool {
    if let kind = entry.kind { return kind == .folder }
    return try folder.statusIfThere(of: entry.name)?.kind == .folder
  }
}

/// Removes rendition files that nothing refers to any more.
///
/// The catalog lists them until they are removed. A kill in between leaves files without a record,
/// which `verify` reports and `gc` removes.
struct DiscardedFiles {
  let library: IngestLibrary

  func remove() throws {
    let paths = try library.catalog.consumeDiscardedFiles()
    // A file that can't be removed stays behind as after a kill, and stops nothing.
    for path in paths { try? library.renditions.remove(path) }
  }
}
