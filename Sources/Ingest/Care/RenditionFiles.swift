import Catalog
import Files
import PipelineModel

/// The files below `renditions/`, compared with what the catalog names.
struct RenditionFiles {
  let folder: Descriptor
  let catalog: CatalogReader

  private static let root = BytePath("renditions")

  /// Files that no record names, as paths below the library, sorted.
  ///
  /// - Parameter withDue: whether files are among them that a job may be making.
  func unnamed(withDue: Bool) throws -> [BytePath] {
    // The folder before the catalog, so that what a run commits meanwhile is named.
    var unnamed = Set(try files(below: Self.root, in: folder))
    if !withDue {
      let due = try catalog.dueRenditionFiles()
      unnamed = unnamed.filter { path in
        let parts = path.lastComponent.bytes.split(separator: UInt8(ascii: "."), maxSplits: 2)
        let prefix = parts.prefix(2).joined(separator: [UInt8(ascii: ".")])
        return !due.contains(String(decoding: Array(prefix), as: UTF8.self))
      }
    }
    try catalog.renditionFiles { unnamed.remove(BytePath($0)) }
    return unnamed.sorted()
  }

  /// Removes the folders that are empty, from the leaves up, but not the root of all.
  ///
  /// - Returns: how many there were.
  func removeEmptyFolders() throws(FileError) -> Int {
    var removed = 0
    let folders = try folders(below: Self.root, in: folder)
    for path in folders.sorted(by: { $0.components.count > $1.components.count }) {
      do throws(FileError) {
        try folder.openParent(of: path).removeFolder(path.lastComponent)
        removed += 1
      } catch let error where error.code == .exists || error.code == .notFound {
        continue
      }
    }
    return removed
  }

  /// All names below a folder that are no folders, as paths relative to where the folder is.
  private func files(
    below path: BytePath, in parent: Descriptor
  ) throws(FileError) -> [BytePath] {
    guard let (folder, entries) = try open(path, in: parent) else { return [] }
    var found: [BytePath] = []
    for entry in entries {
      let inner = path.appending(entry.name)
      if try isFolder(entry, in: folder) {
        found += try files(below: inner, in: folder)
      } else {
        found.append(inner)
      }
    }
    return found
  }

  /// All folders below a folder.
  private func folders(
    below path: BytePath, in parent: Descriptor
  ) throws(FileError) -> [BytePath] {
    guard let (folder, entries) = try open(path, in: parent) else { return [] }
    var found: [BytePath] = []
    for entry in entries where try isFolder(entry, in: folder) {
      let inner = path.appending(entry.name)
      found += [inner] + (try folders(below: inner, in: folder))
    }
    return found
  }

  private func isFolder(
    _ entry: FolderEntry, in folder: Descriptor
  ) throws(FileError) -> Bool {
    if let kind = entry.kind { return kind == .folder }
    return try folder.status(of: entry.name).kind == .folder
  }

  private func open(
    _ path: BytePath, in parent: Descriptor
  ) throws(FileError) -> (folder: Descriptor, entries: [FolderEntry])? {
    do throws(FileError) {
      let folder = try Descriptor.openFolder(path.lastComponent, in: parent, followsLinks: false)
      return (folder, try folder.entries())
    } catch let error where error.code == .notFound {
      return nil
    }
  }
}
