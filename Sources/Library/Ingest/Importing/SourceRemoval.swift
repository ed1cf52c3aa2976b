import Catalog
import Configuration
import Files
import Glibc
import Originals
import PipelineModel
import Records

/// Removes source files whose bytes are safe, and folders emptied by that.
///
/// Apart from a rename into the library (`IncomingTransfer`), no other code takes a file from a source.
final class SourceRemoval {
  enum Outcome {
    /// The file is gone, or another file has its place.
    case gone
    /// It can't be removed, and stays permanently.
    case kept
    /// A process is writing to it, or the disk refused for now: retried later.
    case later
  }

  private let source: IngestSource
  private let library: ImportingLibrary
  private let report: any IngestReport
  private var hasWarned = false
  private var touchedFolders: Set<BytePath> = []

  init(source: IngestSource, library: ImportingLibrary, report: any IngestReport) {
    self.source = source
    self.library = library
    self.report = report
  }

  /// Removes a file if it is unchanged since it was hashed, no process writes to it, and the stored
  /// original is another file.
  ///
  /// - Parameters:
  ///   - identity: the file's identity when it was hashed.
  ///   - digest: its SHA-256; the original was seen whole.
  func remove(
    _ name: BytePath, in folder: Descriptor, expecting identity: FileIdentity,
    storedAs digest: Digest
  ) -> Outcome {
    let path = folder.path.appending(name)
    do throws(FileError) {
      let file = try Descriptor.open(
        name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
      let lease = file.acquireLease()
      if lease == .refused { return .later }
      defer { file.releaseLease() }
      guard try isWhatWasHashed(file, identity, digest) else { return .gone }
      let original = try library.originals.ownFile(of: digest)
      let check = original.map { RemovalCheck(source: file, original: $0) }
      try check?.requireTwoFiles(sourceName: name, digest: digest)
      guard try folder.status(of: name).isSameNode(as: file.status()) else { return .gone }
      // A new writer waits for the lease, and would then write to a deleted file.
      if lease == .granted, !file.holdsLease { return .later }
      try folder.remove(name)
      noteRemoved(from: folder.path)
      if let check { restoreIfLost(digest, from: check, path) }
      return .gone
    } catch let error where error.code == .stopped {
      return .later
    } catch let error where error.path == path && [.notFound, .link].contains(error.code) {
      return .gone
    } catch let error
      where [.ioError, .busy, .tooManyOpen, .noSpace, .unavailable].contains(error.code)
    {
      report.warning("\(error.message) Its bytes are safe; its removal is tried again.")
      return .later
    } catch let error where error.path != path && [.notFound, .notRegular].contains(error.code) {
      report.warning(
        "\(error.message) “\(path.printable)” stays, and the next look at it stores its bytes again."
      )
      return .later
    } catch {
      if !hasWarned {
        hasWarned = true
        report.warning(
          "\(error.message) Files of “\(source.root.printable)” that can't be removed are "
            + "treated as copied: their bytes are safe, the files stay.")
      }
      return .kept
    }
  }

  /// Whether a file is the one that was hashed, with the same bytes.
  ///
  /// A different ctime may come from the removal of another name, new permissions, or a disguised
  /// edit: the bytes decide.
  private func isWhatWasHashed(
    _ file: Descriptor, _ identity: FileIdentity, _ digest: Digest
  ) throws(FileError) -> Bool {
    let status = try file.status()
    guard status.kind == .regular, status.identity.isSameFile(as: identity) else { return false }
    if status.identity == identity { return true }
    guard try library.digest(of: file) == digest else { return false }
    return try file.status().identity == status.identity
  }

  /// Stores the bytes again if the original vanished with its source, because two file systems
  /// showed one file.
  func restoreIfLost(_ digest: Digest, from check: RemovalCheck, _ path: BytePath) {
    do throws(FileError) {
      let original = library.layout.originals.appending(OriginalLayout.path(of: digest))
      if try check.isOriginalThere(original) { return }
      try restore(digest, from: check.source, path)
    } catch {
      report.warning(
        "“\(path.printable)” was removed, and the stored original \(digest) can no longer be seen; "
          + "run `pipeline verify`: \(error.message)")
    }
  }

  private func restore(
    _ digest: Digest, from file: Descriptor, _ path: BytePath
  ) throws(FileError) {
    let names = IncomingNames(taking: library.ids.next())
    let copy = try Descriptor.open(
      names.copy, in: library.incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    // Both are still open, so the bytes exist until this ends.
    guard try copy.fill(from: file) == digest else {
      throw FileError(
        .changed, "“\(path.printable)” changed while it was being removed.", path: path)
    }
    try copy.setPermissions(IncomingTransfer.flushedPermissions)
    try copy.sync()
    try library.heal(
      IncomingOriginal(folder: library.incoming, name: names.copy, digest: digest))
    if library.originals.leavesFiles { try library.incoming.remove(names.copy) }
    report.warning(
      "“\(path.printable)” was the stored original \(digest) itself, seen through another file "
        + "system. The bytes were stored again. Remove the source “\(source.root.printable)” from "
        + "the configuration: it shows the library.")
  }

  /// Records that a file left this folder.
  func noteRemoved(from folder: BytePath) {
    if source.removesEmptyFolders { touchedFolders.insert(folder) }
  }

  /// Removes empty folders that files left, but never the source.
  ///
  /// - Parameter rest: a folder that changed more recently stays until the next call, because more
  ///   files may be about to arrive.
  func removeEmptyFolders(unchangedFor rest: Duration = .zero) {
    let deepestFirst = touchedFolders.sorted { $0.components.count > $1.components.count }
    touchedFolders = []
    for folder in deepestFirst {
      var path = folder
      while let relative = path.relative(to: source.root) {
        do throws(FileError) {
          let parent = try source.folder.openParent(of: relative)
          let status = try parent.status(of: relative.lastComponent)
          let age = Timestamp.now.microseconds - status.identity.modified / 1000
          guard rest == .zero || .microseconds(age) >= rest else {
            touchedFolders.insert(path)
            break
          }
          try parent.removeFolder(relative.lastComponent)
        } catch {
          // Not empty, or not ours to remove: it stays, as by default.
          break
        }
        path = path.parent
      }
    }
  }
}

/// Checks that a source to be removed and the stored original are two files.
///
/// Device and inode number show that, unless another file system shows the library a second time:
/// an overlay, or a share of this machine mounted here.
struct RemovalCheck {
  let source: Descriptor
  let original: Descriptor

  /// Throws if they are one file, or if a source that looks like an original may be.
  ///
  /// Only originals have their own digest as their name. Such a source's time is changed for a
  /// moment: if the original's time changes with it, they are one file.
  func requireTwoFiles(sourceName: BytePath, digest: Digest) throws(FileError) {
    let status = try source.status()
    if try original.status().isSameNode(as: status) {
      throw FileError(
        .other, "“\(source.path.printable)” is the stored original itself.", path: source.path)
    }
    guard sourceName == OriginalLayout.name(of: digest) else { return }
    let before = try original.status().identity.modified
    let modified = status.identity.modified
    // More than two seconds, the coarsest resolution of file systems.
    try source.setModified(modified.addingReportingOverflow(10_000_000_000).partialValue)
    let after = try original.status().identity.modified
    try source.setModified(modified)
    guard before == after else {
      throw FileError(
        .other,
        "“\(source.path.printable)” is the stored original itself, seen through another file "
          + "system.", path: source.path)
    }
  }

  func isOriginalThere(_ path: BytePath) throws(FileError) -> Bool {
    let found = try ifThere { () throws(FileError) in try FileSystem.status(of: path) }
    return try found?.isSameNode(as: original.status()) ?? false
  }
}

/// Step 5: removal of sources whose bytes are safe.
extension Importer {
  /// Removes a source. The catalog records that with the next group: after a kill before that, the
  /// next run just finds the source gone.
  func removeSource(_ file: ImportGroup.Outcome, at now: Timestamp) throws {
    guard let attempt = file.attempt, let digest = file.digest else { return }
    guard file.awaitsRemoval else {
      if file.identity == nil { removal.noteRemoved(from: attempt.folder.path) }
      return
    }
    guard attempt.lease == .granted else {
      // A process may still be writing. The next run compares the whole identity again, and removes
      // the source then.
      return
    }
    let outcome = removal.remove(
      attempt.name, in: attempt.folder, expecting: attempt.status.identity, storedAs: digest)
    noteRemoval(file.sighting(in: source, run: library.run, at: now), outcome)
  }

  /// Removes the source of a file whose bytes were safe before this run, if the source's rules
  /// still say so.
  ///
  /// - Returns: whether the original is whole; if not, importing the source again heals it.
  func finishRemoval(of sighting: Sighting) throws -> Bool {
    guard source.moves, sighting.state != .duplicate || source.duplicates != .keep else {
      var kept = sighting
      kept.awaitsRemoval = false
      recordSilently(kept)
      return true
    }
    guard let identity = sighting.identity, let asset = sighting.asset,
      let digest = try library.reader.asset(asset)?.digest
    else { return false }
    library.verified.remove(digest)
    guard try isStoredWhole(digest) else { return false }
    do throws(FileError) {
      let folder = try source.folder.openParent(of: sighting.path)
      let outcome = removal.remove(
        sighting.path.lastComponent, in: folder, expecting: identity, storedAs: digest)
      noteRemoval(sighting, outcome)
    } catch {
      report.warning(error.message)
    }
    return true
  }

  private func noteRemoval(_ sighting: Sighting, _ outcome: SourceRemoval.Outcome) {
    var sighting = sighting
    sighting.awaitsRemoval = false
    switch outcome {
    case .gone:
      pendingChanges.append(.sourceRemoved(source: source.recorded, path: sighting.path))
    case .kept: pendingChanges.append(.sighting(sighting))
    // The catalog has it already: it awaits its removal.
    case .later: break
    }
  }
}
