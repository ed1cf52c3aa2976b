import Files
import Glibc
import Originals
import PipelineModel

/// Removes source files whose bytes are safe, and folders emptied by that.
///
/// No other code removes a file from a source.
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
  private let library: IngestLibrary
  private let report: any IngestReport
  private var hasWarned = false
  private var touchedFolders: Set<BytePath> = []

  init(source: IngestSource, library: IngestLibrary, report: any IngestReport) {
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
      let original = try Descriptor.open(
        library.originals.materialize(digest), flags: O_RDONLY | O_NOFOLLOW)
      let check = RemovalCheck(source: file, original: original)
      try check.requireTwoFiles(sourceName: name, digest: digest)
      guard try folder.status(of: name).isSameNode(as: file.status()) else { return .gone }
      // A new writer waits for the lease, and would then write to a deleted file.
      if lease == .granted, !file.holdsLease { return .later }
      try folder.remove(name)
      noteRemoved(from: folder.path)
      restoreIfLost(digest, from: check, path)
      return .gone
    } catch let error where error.code == .stopped {
      return .later
    } catch let error where error.path == path && [.notFound, .link].contains(error.code) {
      return .gone
    } catch let error where [.ioError, .busy, .tooManyOpen, .noSpace].contains(error.code) {
      report.warning("\(error.message) Its bytes are safe; its removal is tried again.")
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
    try library.originals.heal(
      IncomingOriginal(folder: library.incoming, name: names.copy, digest: digest))
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
