import Catalog
import Files
import Glibc
import PipelineModel
import Records
import Renditions
import Synchronization

/// A tree of renditions: files below `renditions/`, or objects of a bucket.
protocol RenditionTree {
  /// What the paths of all begin with, followed by a slash.
  var root: BytePath { get }

  /// Whether nothing is stored there any more, so that it may be out of reach by now.
  var isFormer: Bool { get }

  /// Returns the paths of what is in a folder of it.
  ///
  /// - Throws: `FileError`, with `ENOENT` if there is none.
  func look(
    into path: BytePath
  ) throws(FileError) -> (folders: [BytePath], others: [BytePath])

  /// Returns the size of what has a path, in bytes; `nil` if nothing has.
  func size(of path: BytePath) throws(FileError) -> Int?

  /// Removes what has a path; succeeds if nothing has.
  func remove(_ path: BytePath) throws(FileError)
}

/// A tree of renditions, compared with the catalog, folder by folder.
struct RenditionFiles {
  let tree: any RenditionTree
  let catalog: CatalogReader

  /// Files that no record names and no job may be making, sorted.
  ///
  /// Skips unreadable folders: what nobody has seen must not be removed.
  ///
  /// - Parameter onFailure: called for each.
  func unnamed(onFailure: (FileError) -> Void = { _ in }) throws -> [BytePath] {
    var unnamed: [BytePath] = []
    try forEachUnnamed { found in
      switch found {
      case .success(let path): if try isUnnamed(path) { unnamed.append(path) }
      case .failure(let error): onFailure(error)
      }
    }
    return unnamed.sorted()
  }

  /// Calls `body` with each file that no record names, including files that a job may be making, and with an error
  /// for each unreadable folder.
  ///
  /// - Parameter step: called before each folder.
  func forEachUnnamed(
    step: () throws -> Void = {}, _ body: (Result<BytePath, FileError>) throws -> Void
  ) throws {
    var folders = [tree.root]
    while let path = folders.popLast() {
      try step()
      var unnamed: Set<BytePath> = []
      do throws(FileError) {
        // The folder before the catalog, so that what a run commits meanwhile has a record.
        let inner = try tree.look(into: path)
        folders += inner.folders
        unnamed.formUnion(inner.others)
      } catch let error where error.errno == ENOENT {
        continue
      } catch {
        // Of a former place without any that is known, nobody need know.
        let isOfNoUse =
          try tree.isFormer && !catalog.hasRenditionFiles(below: tree.root.description)
        if !isOfNoUse { try body(.failure(error)) }
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

  /// Whether no record names a file of the tree and no job may be making it.
  func isUnnamed(_ path: BytePath) throws -> Bool {
    guard path.relative(to: tree.root) != nil else { return false }
    // In one snapshot: a job that ends in between would neither be due nor have a record.
    return try catalog.snapshot { try !isNamed(path) && !isDue(path) }
  }

  private func isNamed(_ path: BytePath) throws(CatalogError) -> Bool {
    guard let text = path.utf8 else { return false }
    return try catalog.namesRenditionFile(text)
  }

  private func isThere(_ path: BytePath) -> Bool {
    do throws(FileError) {
      return try tree.size(of: path) != nil
    } catch {
      // One that can't be examined is there all the same.
      return true
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
}

/// Removes rendition files that nothing refers to any more.
///
/// The catalog lists them until they are removed. A kill in between leaves files without a record,
/// which `verify` reports and `gc` removes.
struct DiscardedFiles {
  let library: IngestLibrary

  func remove() throws {
    let paths = try library.catalog.consumeDiscardedFiles()
    let renditions = library.renditions
    let isAway = Atomic(false)
    // A file that can't be removed stays behind as after a kill, and stops nothing. Of a store that is away nothing is
    // asked again.
    _ = paths.map(width: renditions.callsAtOnce) { path in
      guard !isAway.load(ordering: .relaxed) else { return }
      do throws(FileError) {
        try renditions.remove(path)
      } catch {
        if error.code == .unavailable { isAway.store(true, ordering: .relaxed) }
      }
    }
  }
}
