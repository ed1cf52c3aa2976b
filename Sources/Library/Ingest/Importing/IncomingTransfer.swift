import Catalog
import Files
import Glibc
import Hashing
import PipelineModel
import Records

/// A file whose bytes are in `incoming/`: hashed, compared, read-only and on disk.
struct IncomingFile: Sendable {
  let attempt: ImportAttempt
  let digest: Digest
  /// Whether the file itself was renamed, so that the source is already gone.
  let wasRenamed: Bool

  /// Its name in `incoming/`.
  var name: BytePath { wasRenamed ? attempt.incoming.itself : attempt.incoming.copy }
}

/// A file whose bytes are in `incoming/`, hashed and compared, but perhaps not yet on disk.
private struct UnflushedFile: Sendable {
  let attempt: ImportAttempt
  let digest: Digest
  let size: Int
  /// The file in `incoming/`. A copy is open since before its bytes were written, so fsync reports
  /// each failed write; a renamed file since it was examined, so fsync reports failures that its
  /// writer did not see.
  let file: Descriptor
  let wasRenamed: Bool
  /// Why its bytes can't be on disk, if already known.
  var failure: FileError?
}

private struct CopyResult {
  let digest: Digest
  let size: Int
  /// Why some of it can't be on disk, if already known.
  let failure: FileError?
}

/// Brings the bytes of imports into `incoming/`.
struct IncomingTransfer {
  let source: IngestSource
  let incoming: Descriptor
  /// The owner that a file must have to be renamed.
  let user: UInt32
  /// The device number of the library's file system.
  let device: UInt64
  let flush: GroupFlush
  /// Whether the user asked to stop; called for each mebibyte.
  let isStopped: @Sendable () -> Bool

  /// Renames, clones or copies, and waits until the bytes are on disk: many files together, few
  /// files each by itself while others are read.
  func run(_ attempts: [ImportAttempt]) -> [(ImportAttempt, StepResult<IncomingFile>)] {
    guard flush.serves(files: attempts.count) else {
      return attempts.concurrentMap { ($0, finish(transfer($0), isOnDisk: false)) }
    }
    let unflushed = attempts.concurrentMap { ($0, transfer($0)) }
    // Flushing a whole file system may take long and can't be interrupted.
    if isStopped() { return unflushed.map { ($0, abandon($1)) } }
    // Each file must report its failed writes now: the flush of all rewrites what is left, and
    // silently drops what it can't write.
    let written = unflushed.concurrentMap { ($0, writePages($1)) }
    let isOnDisk = flush.run(files: attempts.count)
    return written.concurrentMap { ($0, finish($1, isOnDisk: isOnDisk)) }
  }

  // MARK: Bringing the bytes

  private func transfer(_ attempt: ImportAttempt) -> StepResult<UnflushedFile> {
    do throws(FileError) {
      if mayRename(attempt) {
        do throws(FileError) {
          try attempt.folder.rename(attempt.name, to: incoming, as: attempt.incoming.itself)
          return transferByRename(attempt)
        } catch let error where [.crossDevice, .permission, .other].contains(error.code) {
          // A bind mount, a sticky folder, a file system without such renames: copy.
        }
      }
      return try transferByCopy(attempt)
    } catch let error where error.code == .notFound {
      return .ended(.gone, reason: "The file vanished before it could be imported.")
    } catch {
      return .ended(state(after: error), reason: describe(error))
    }
  }

  /// Whether a file may be imported without copying its bytes.
  func mayRename(_ attempt: ImportAttempt) -> Bool {
    source.takesByRename && attempt.isLeased && attempt.status.links == 1
      && attempt.status.owner == user && attempt.status.device == device
  }

  private func transferByRename(_ attempt: ImportAttempt) -> StepResult<UnflushedFile> {
    do throws(FileError) {
      // The rename used the name, all checks use the descriptor: both must mean one file.
      guard try incoming.status(of: attempt.incoming.itself).isSameNode(as: attempt.status) else {
        return putBack(
          attempt, state: .settling, reason: "Another file had its name when it was imported.",
          isOurs: false)
      }
      let (digest, size) = try attempt.file.hash(
        expecting: attempt.status.identity.size, isStopped: isStopped)
      guard try isUntouched(attempt, size: size) else {
        return putBack(attempt, state: .settling, reason: "It changed while it was being imported.")
      }
      try attempt.file.setPermissions(0o444)
      return .next(
        UnflushedFile(
          attempt: attempt, digest: digest, size: size, file: attempt.file, wasRenamed: true,
          failure: failure { () throws(FileError) in try attempt.file.startWriting() }))
    } catch {
      return putBack(attempt, state: state(after: error), reason: describe(error))
    }
  }

  // MARK: Waiting for the disk

  /// Waits until the bytes are on disk.
  ///
  /// - Parameter isOnDisk: whether the whole file system was flushed since they were written.
  private func finish(_ step: StepResult<UnflushedFile>, isOnDisk: Bool) -> StepResult<IncomingFile>
  {
    switch step {
    case .next(let unflushed):
      unflushed.wasRenamed
        ? finishRename(unflushed, isOnDisk: isOnDisk) : finishCopy(unflushed, isOnDisk: isOnDisk)
    case .ended(let state, let reason): .ended(state, reason: reason)
    case .stranded(let reason): .stranded(reason: reason)
    }
  }

  private func sync(_ unflushed: UnflushedFile, isOnDisk: Bool) throws(FileError) {
    // Never flush the pages again: they may be marked clean.
    if let failure = unflushed.failure { throw failure }
    if !isOnDisk { try unflushed.file.sync() }
  }

  private func writePages(_ step: StepResult<UnflushedFile>) -> StepResult<UnflushedFile> {
    guard case .next(var unflushed) = step, unflushed.failure == nil else { return step }
    let file = unflushed.file
    unflushed.failure = failure { () throws(FileError) in try file.writePages() }
    return .next(unflushed)
  }

  private func failure(of body: () throws(FileError) -> Void) -> FileError? {
    do throws(FileError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  /// Reverts an import under way, because the program is to end.
  private func abandon(_ step: StepResult<UnflushedFile>) -> StepResult<IncomingFile> {
    guard case .next(let unflushed) = step else { return finish(step, isOnDisk: false) }
    let stopped = FileError.stopped(unflushed.attempt.file.path)
    if unflushed.wasRenamed {
      return putBack(unflushed.attempt, state: state(after: stopped), reason: stopped.message)
    }
    do throws(FileError) {
      try incoming.remove(unflushed.attempt.incoming.copy)
    } catch {
      return .ended(state(after: error), reason: error.message)
    }
    return .ended(state(after: stopped), reason: stopped.message)
  }

  private func finishRename(_ unflushed: UnflushedFile, isOnDisk: Bool) -> StepResult<IncomingFile>
  {
    let attempt = unflushed.attempt
    do throws(FileError) {
      do throws(FileError) {
        try sync(unflushed, isOnDisk: isOnDisk)
      } catch let error where error.code == .ioError || error.code == .noSpace {
        return try finishOnNewNode(attempt, digest: unflushed.digest, size: unflushed.size)
      }
      guard try isUntouched(attempt, size: unflushed.size) else {
        return putBack(attempt, state: .settling, reason: "It changed while it was being imported.")
      }
      return .next(IncomingFile(attempt: attempt, digest: unflushed.digest, wasRenamed: true))
    } catch {
      return putBack(attempt, state: state(after: error), reason: describe(error))
    }
  }

  private func finishCopy(_ unflushed: UnflushedFile, isOnDisk: Bool) -> StepResult<IncomingFile> {
    let attempt = unflushed.attempt
    do throws(FileError) {
      do throws(FileError) {
        try sync(unflushed, isOnDisk: isOnDisk)
      } catch let error where error.code == .ioError {
        return try copyAgain(attempt, digest: unflushed.digest)
      }
      try markFlushed(unflushed.file, of: attempt)
      return .next(IncomingFile(attempt: attempt, digest: unflushed.digest, wasRenamed: false))
    } catch {
      // Clean-up: the source is untouched, the error says what happened.
      try? incoming.remove(attempt.incoming.copy)
      return .ended(state(after: error), reason: describe(error))
    }
  }

  /// Whether no process has written to a renamed file, or waits to.
  ///
  /// - Parameter links: the number of names the file must have.
  private func isUntouched(
    _ attempt: ImportAttempt, size: Int, links: UInt64 = 1
  ) throws(FileError) -> Bool {
    let now = try attempt.file.status()
    return now.identity.isSameFile(as: attempt.status.identity) && now.identity.size == size
      && now.links == links && attempt.file.holdsLease
  }

  /// Handles a failed fsync: the pages may be marked clean without being on disk, so a second fsync
  /// would lie. The bytes go to a new inode, must hash the same, and are synced there.
  private func finishOnNewNode(
    _ attempt: ImportAttempt, digest: Digest, size: Int
  ) throws(FileError) -> StepResult<IncomingFile> {
    let name = attempt.incoming.second
    let copy = try Descriptor.open(
      name, in: incoming, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    do throws(FileError) {
      try attempt.file.seek(to: 0)
      let written = try write(attempt.file, to: copy, expecting: size)
      if let failure = written.failure { throw failure }
      guard written.digest == digest else {
        throw FileError(
          .ioError, "“\(attempt.name.printable)” can't be written to the disk.", path: copy.path)
      }
      try copy.setPermissions(Self.flushedPermissions)
      // It replaces the file itself, so recovery must recognize it as that.
      try copy.setModified(attempt.status.identity.modified)
      try copy.sync()
      try incoming.replace(name, to: incoming, as: attempt.incoming.itself)
    } catch {
      // Clean-up: the renamed file is still there under its own name.
      try? incoming.remove(name)
      throw error
    }
    guard try isUntouched(attempt, size: size, links: 0) else {
      return putBack(attempt, state: .settling, reason: "It changed while it was being imported.")
    }
    return .next(IncomingFile(attempt: attempt, digest: digest, wasRenamed: true))
  }

  /// Puts a renamed file back.
  ///
  /// - Parameter isOurs: whether it is the examined file; another one keeps its mode and time.
  func putBack<Value>(
    _ attempt: ImportAttempt, state: Sighting.State, reason: String, isOurs: Bool = true
  ) -> StepResult<Value> {
    let attributes = RenameBack.Attributes(
      permissions: attempt.status.permissions, modified: attempt.status.identity.modified)
    do throws(FileError) {
      let name = try RenameBack(incoming: incoming).run(
        attempt.incoming.itself, to: attempt.folder, as: attempt.name,
        restoring: isOurs ? attributes : nil)
      if name == attempt.name { return .ended(state, reason: reason) }
      return .ended(
        .failed,
        reason: "\(reason) Another file has its name now; it is next to that file as "
          + "“\(name.printable)”.")
    } catch {
      return .stranded(
        reason: "\(reason) It could not be put back and is kept as "
          + "“\(incoming.path.appending(attempt.incoming.itself).printable)” until a run can: "
          + error.message)
    }
  }

  /// Withdraws a file that could not be stored from `incoming/`.
  func withdraw(_ file: IncomingFile, because error: FileError) -> StepResult<IncomingFile> {
    let (state, reason) = (state(after: error), error.message)
    if file.wasRenamed { return putBack(file.attempt, state: state, reason: reason) }
    do throws(FileError) {
      try incoming.remove(file.name)
      return .ended(state, reason: reason)
    } catch {
      return .stranded(reason: "\(reason) \(error.message)")
    }
  }

  /// A file left because the program is to end, or the store is away, has not failed.
  private func state(after error: FileError) -> Sighting.State {
    [.stopped, .unavailable].contains(error.code) ? .settling : .failed
  }

  // MARK: By reflink or copy

  private func transferByCopy(_ attempt: ImportAttempt) throws(FileError) -> StepResult<
    UnflushedFile
  > {
    do throws(FileError) {
      let copy = try Descriptor.open(
        attempt.incoming.copy, in: incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
        mode: 0o600)
      let written = try fill(copy, from: attempt)
      let now = try attempt.file.status()
      guard now.identity == attempt.status.identity, written.size == now.identity.size else {
        try incoming.remove(attempt.incoming.copy)
        return .ended(.settling, reason: "It changed while it was read.")
      }
      guard try copy.status().identity.size == written.size else {
        throw FileError(.changed, "The copy has the wrong size.", path: copy.path)
      }
      return .next(
        UnflushedFile(
          attempt: attempt, digest: written.digest, size: written.size, file: copy,
          wasRenamed: false, failure: written.failure))
    } catch {
      // Clean-up: the source is untouched, the error says what happened.
      try? incoming.remove(attempt.incoming.copy)
      throw error
    }
  }

  private func fill(
    _ copy: Descriptor, from attempt: ImportAttempt
  ) throws(FileError) -> CopyResult {
    let size = attempt.status.identity.size
    if try copy.clone(from: attempt.file) {
      let (digest, size) = try copy.hash(expecting: size, isStopped: isStopped)
      return CopyResult(digest: digest, size: size, failure: nil)
    }
    return try write(attempt.file, to: copy, expecting: size)
  }

  /// Handles a failed fsync of a copy: writes a new inode from the source.
  private func copyAgain(_ attempt: ImportAttempt, digest: Digest) throws(FileError) -> StepResult<
    IncomingFile
  > {
    try incoming.remove(attempt.incoming.copy)
    let copy = try Descriptor.open(
      attempt.incoming.copy, in: incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
      mode: 0o600)
    try attempt.file.seek(to: 0)
    let written = try write(attempt.file, to: copy, expecting: attempt.status.identity.size)
    if let failure = written.failure { throw failure }
    guard written.digest == digest else {
      try incoming.remove(attempt.incoming.copy)
      return .ended(.settling, reason: "It changed while it was read.")
    }
    try copy.sync()
    try markFlushed(copy, of: attempt)
    return .next(IncomingFile(attempt: attempt, digest: digest, wasRenamed: false))
  }

  /// Makes a copy read-only, which marks its bytes as on disk, and gives it the source's time.
  ///
  /// After a power loss, a file may have its size but lack its bytes. The mode is set after the
  /// flush, so recovery trusts a copy whose source it can't see only if it is read-only. The time
  /// lets recovery match an original that was stored but not recorded to its import. Neither is
  /// flushed.
  private func markFlushed(_ copy: Descriptor, of attempt: ImportAttempt) throws(FileError) {
    // If the file system keeps no such time, recovery has one clue less.
    try? copy.setModified(attempt.status.identity.modified)
    try copy.setPermissions(Self.flushedPermissions)
  }

  /// The mode of an original, and of a copy whose bytes are on disk.
  static let flushedPermissions: UInt32 = 0o444

  /// How many bytes of a copy are written before the disk starts to write them out.
  private static let pieceWritten = 64 << 20

  /// Copies and hashes while the bytes are in the processor's cache.
  private func write(
    _ file: Descriptor, to copy: Descriptor, expecting expected: Int
  ) throws(FileError) -> CopyResult {
    let hash = SHA256()
    var size = 0
    var next = Self.pieceWritten
    var failure: FileError?
    try file.forEachChunk(expecting: expected) { chunk throws(FileError) in
      if isStopped() { throw .stopped(file.path) }
      hash.update(chunk)
      try copy.write(chunk)
      size += chunk.count
      // A single flush at the end could not be interrupted.
      if size >= next {
        failure = failure ?? self.failure { () throws(FileError) in try copy.startWriting() }
        next += Self.pieceWritten
      }
    }
    // The disk writes while other files are read.
    failure = failure ?? self.failure { () throws(FileError) in try copy.startWriting() }
    return CopyResult(digest: hash.finalize(), size: size, failure: failure)
  }

  private func describe(_ error: FileError) -> String {
    // Without figures, the error says enough.
    guard error.code == .noSpace, let facts = try? incoming.fileSystem() else {
      return error.message
    }
    return "\(error.message) \(ByteSize(bytes: facts.freeBytes)) are free."
  }
}
