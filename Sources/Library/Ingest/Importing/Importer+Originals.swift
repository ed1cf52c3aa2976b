import Catalog
import Files
import Originals
import PipelineModel

/// The stored originals of known bytes: whether they are whole, and how they become so.
extension Importer {
  /// Reads the stored original; replaces it with the file's bytes if it is damaged or missing,
  /// otherwise the file in `incoming/` becomes obsolete.
  func ensureStored(_ file: IncomingFile, in group: ImportGroup) throws {
    if try isWhole(file.digest) {
      group.leftovers.append(file.name)
    } else {
      try heal(file, with: file.name)
      if library.originals.leavesFiles { group.leave(file, in: library.incoming) }
    }
  }

  /// Puts a file in `incoming/` in the place of a damaged or missing original.
  func heal(_ file: IncomingFile, with name: BytePath) throws {
    try library.heal(
      IncomingOriginal(folder: library.incoming, name: name, digest: file.digest))
    library.verified.insert(file.digest)
    // Jobs that failed because these bytes were missing may succeed now.
    let assets = try library.catalog.assets(with: file.digest)
    _ = try library.catalog.retry(assets: assets)
    report.warning(
      "The original \(file.digest) was damaged or missing and is whole again, restored from "
        + "“\(source.root.appending(file.attempt.candidate.path).printable)”.")
  }

  /// Whether a stored original is whole that no file in `incoming/` is compared with.
  ///
  /// - Throws: `IngestError` of code `store` if the store can't be used for now.
  func isStoredWhole(_ digest: Digest) throws -> Bool {
    do {
      return try isWhole(digest)
    } catch let error as FileError where error.code == .unavailable {
      throw IngestError.storeAway(error)
    }
  }

  /// Whether this process has read the stored original and found it whole.
  func isWhole(_ digest: Digest) throws -> Bool {
    if library.verified.contains(digest) { return true }
    // Always read to its end; `isStopped` is called as a sign of life.
    let condition = try library.originals.verify(digest) { [isStopped] in
      _ = isStopped()
      return false
    }
    guard case .whole = condition else { return false }
    library.verified.insert(digest)
    return true
  }

  /// Whether the stored original exists with the right size, without reading it.
  func isThere(_ digest: Digest, size: Int) -> Bool {
    // Whatever the reason, an original that can't be seen must be read.
    (try? library.originals.size(of: digest)) == size
  }
}
