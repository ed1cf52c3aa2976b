import Catalog
import Files
import Glibc
import Hashing
import PipelineModel

/// A file whose bytes are in `incoming/`: hashed, compared, read-only and on disk.
struct Landed: Sendable {
  let taking: Taking
  let digest: Digest
  /// Whether the file itself was renamed, so that the source is already gone.
  let wasRenamed: Bool

  /// Its name in `incoming/`.
  var name: BytePath { wasRenamed ? taking.incoming.itself : taking.incoming.copy }
}

/// A file whose bytes are in `incoming/`, hashed and compared, but perhaps not yet on disk.
private struct Brought: Sendable {
  let taking: Taking
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

private struct Written {
  let digest: Digest
  let size: Int
  /// Why some of it can't be on disk, if already known.
  let failure: FileError?
}

/// Brings the bytes of imports into `incoming/`.
struct Landing {
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
  func land(_ takings: [Taking]) -> [(Taking, Step<Landed>)] {
    guard flush.serves(files: takings.count) else {
      return takings.concurrentMap { ($0, finish(bring($0), isOnDisk: false)) }
    }
    let brought = takings.concurrentMap { ($0, bring($0)) }
    // Flushing a whole file system may take long and can't be interrupted.
    if isStopped() { return brought.map { ($0, leave($1)) } }
    // Each file must report its failed writes now: the flush of all rewrites what is left, and
    // silently drops what it can't write.
    let written = brought.concurrentMap { ($0, writePages($1)) }
    let isOnDisk = flush.run(files: takings.count)
    return written.concurrentMap { ($0, finish($1, isOnDisk: isOnDisk)) }
  }

  // MARK: Bringing the bytes

  private func bring(_ taking: Taking) -> Step<Brought> {
    do throws(FileError) {
      if mayRename(taking) {
        do throws(FileError) {
          try taking.folder.rename(taking.name, to: incoming, as: taking.incoming.itself)
          return bringByRename(taking)
        } catch let error where [.crossDevice, .permission, .other].contains(error.code) {
          // A bind mount, a sticky folder, a file system without such renames: copy.
        }
      }
      return try bringByCopy(taking)
    } catch let error where error.code == .notFound {
      return .ended(.gone, reason: "The file vanished before it could be imported.")
    } catch {
      return .ended(state(after: error), reason: describe(error))
    }
  }

  /// Whether a file may be imported without copying its bytes.
  func mayRename(_ taking: Taking) -> Bool {
    source.takesByRename && taking.isLeased && taking.status.links == 1
      && taking.status.owner == user && taking.status.device == device
  }

  private func bringByRename(_ taking: Taking) -> Step<Brought> {
    do throws(FileError) {
      // The rename used the name, all checks use the descriptor: both must mean one file.
      guard try incoming.status(of: taking.incoming.itself).isSameNode(as: taking.status) else {
        return giveBack(
          taking, state: .settling, reason: "Another file had its name when it was imported.",
          isOurs: false)
      }
      let (digest, size) = try taking.file.hash(
        expecting: taking.status.identity.size, isStopped: isStopped)
      guard try isUntouched(taking, size: size) else {
        return giveBack(
          taking, state: .settling, reason: "It changed while it was being imported.")
      }
      try taking.file.setPermissions(0o444)
      return .next(
        Brought(
          taking: taking, digest: digest, size: size, file: taking.file, wasRenamed: true,
          failure: failure { () throws(FileError) in try taking.file.startWriting() }))
    } catch {
      return giveBack(taking, state: state(after: error), reason: describe(error))
    }
  }

  // MARK: Waiting for the disk

  /// Waits until the bytes are on disk.
  ///
  /// - Parameter isOnDisk: whether the whole file system was flushed since they were written.
  private func finish(_ step: Step<Brought>, isOnDisk: Bool) -> Step<Landed> {
    switch step {
    case .next(let brought):
      brought.wasRenamed
        ? finishRename(brought, isOnDisk: isOnDisk) : finishCopy(brought, isOnDisk: isOnDisk)
    case .ended(let state, let reason): .ended(state, reason: reason)
    case .stranded(let reason): .stranded(reason: reason)
    }
  }

  private func sync(_ brought: Brought, isOnDisk: Bool) throws(FileError) {
    // Never flush the pages again: they may be marked clean.
    if let failure = brought.failure { throw failure }
    if !isOnDisk { try brought.file.sync() }
  }

  private func writePages(_ step: Step<Brought>) -> Step<Brought> {
    guard case .next(var brought) = step, brought.failure == nil else { return step }
    let file = brought.file
    brought.failure = failure { () throws(FileError) in try file.writePages() }
    return .next(brought)
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
  private func leave(_ step: Step<Brought>) -> Step<Landed> {
    guard case .next(let brought) = step else { return finish(step, isOnDisk: false) }
    let stopped = FileError.stopped(brought.taking.file.path)
    if brought.wasRenamed {
      return giveBack(brought.taking, state: state(after: stopped), reason: stopped.message)
    }
    do throws(FileError) {
      try incoming.remove(brought.taking.incoming.copy)
    } catch {
      return .ended(state(after: error), reason: error.message)
    }
    return .ended(state(after: stopped), reason: stopped.message)
  }

  private func finishRename(_ brought: Brought, isOnDisk: Bool) -> Step<Landed> {
    let taking = brought.taking
    do throws(FileError) {
      do throws(FileError) {
        try sync(brought, isOnDisk: isOnDisk)
      } catch let error where error.code == .ioError || error.code == .noSpace {
        return try finishOnNewNode(taking, digest: brought.digest, size: brought.size)
      }
      guard try isUntouched(taking, size: brought.size) else {
        return giveBack(
          taking, state: .settling, reason: "It changed while it was being imported.")
      }
      return .next(Landed(taking: taking, digest: brought.digest, wasRenamed: true))
    } catch {
      return giveBack(taking, state: state(after: error), reason: describe(error))
    }
  }

  private func finishCopy(_ brought: Brought, isOnDisk: Bool) -> Step<Landed> {
    let taking = brought.taking
    do throws(FileError) {
      do throws(FileError) {
        try sync(brought, isOnDisk: isOnDisk)
      } catch let error where error.code == .ioError {
        return try copyAgain(taking, digest: brought.digest)
      }
      try markFlushed(brought.file, of: taking)
      return .next(Landed(taking: taking, digest: brought.digest, wasRenamed: false))
    } catch {
      // Clean-up: the source is untouched, the error says what happened.
      try? incoming.remove(taking.incoming.copy)
      return .ended(state(after: error), reason: describe(error))
    }
  }

  /// Whether no process has written to a renamed file, or waits to.
  ///
  /// - Parameter links: the number of names the file must have.
  private func isUntouched(
    _ taking: Taking, size: Int, links: UInt64 = 1
  ) throws(FileError) -> Bool {
    let now = try taking.file.status()
    return now.identity.isSameFile(as: taking.status.identity) && now.identity.size == size
      && now.links == links && taking.file.holdsLease
  }

  /// Handles a failed fsync: the pages may be marked clean without being on disk, so a second fsync
  /// would lie. The bytes go to a new inode, must hash the same, and are synced there.
  private func finishOnNewNode(
    _ taking: Taking, digest: Digest, size: Int
  ) throws(FileError) -> Step<Landed> {
    let name = taking.incoming.second
    let copy = try Descriptor.open(
      name, in: incoming, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    do throws(FileError) {
      try taking.file.seek(to: 0)
      let written = try write(taking.file, to: copy, expecting: size)
      if let failure = written.failure { throw failure }
      guard written.digest == digest else {
        throw FileError(
          .ioError, "“\(taking.name.printable)” can't be written to the disk.", path: copy.path)
      }
      try copy.setPermissions(Self.flushedPermissions)
      // It replaces the file itself, so recovery must recognize it as that.
      try copy.setModified(taking.status.identity.modified)
      try copy.sync()
      try incoming.replace(name, to: incoming, as: taking.incoming.itself)
    } catch {
      // Clean-up: the renamed file is still there under its own name.
      try? incoming.remove(name)
      throw error
    }
    guard try isUntouched(taking, size: size, links: 0) else {
      return giveBack(
        taking, state: .settling, reason: "It changed while it was being imported.")
    }
    return .next(Landed(taking: taking, digest: digest, wasRenamed: true))
  }

  /// Puts a renamed file back.
  ///
  /// - Parameter isOurs: whether it is the examined file; another one keeps its mode and time.
  func giveBack<Value>(
    _ taking: Taking, state: Sighting.State, reason: String, isOurs: Bool = true
  ) -> Step<Value> {
    let attributes = GiveBack.Attributes(
      permissions: taking.status.permissions, modified: taking.status.identity.modified)
    do throws(FileError) {
      let name = try GiveBack(incoming: incoming).run(
        taking.incoming.itself, to: taking.folder, as: taking.name,
        restoring: isOurs ? attributes : nil)
      if name == taking.name { return .ended(state, reason: reason) }
      return .ended(
        .failed,
        reason: "\(reason) Another file has its name now; it is next to that file as "
          + "“\(name.printable)”.")
    } catch {
      return .stranded(
        reason: "\(reason) It could not be put back and is kept as "
          + "“\(incoming.path.appending(taking.incoming.itself).printable)” until a run can: "
          + error.message)
    }
  }

  /// Withdraws a file that could not be stored from `incoming/`.
  func withdraw(_ file: Landed, reason: String) -> Step<Landed> {
    if file.wasRenamed { return giveBack(file.taking, state: .failed, reason: reason) }
    do throws(FileError) {
      try incoming.remove(file.name)
      return .ended(.failed, reason: reason)
    } catch {
      return .stranded(reason: "\(reason) \(error.message)")
    }
  }

  /// A file left because the program is to end has not failed.
  private func state(after error: FileError) -> Sighting.State {
    error.code == .stopped ? .settling : .failed
  }

  // MARK: By reflink or copy

  private func bringByCopy(_ taking: Taking) throws(FileError) -> Step<Brought> {
    do throws(FileError) {
      let copy = try Descriptor.open(
        taking.incoming.copy, in: incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
        mode: 0o600)
      let written = try fill(copy, from: taking)
      let now = try taking.file.status()
      guard now.identity == taking.status.identity, written.size == now.identity.size else {
        try incoming.remove(taking.incoming.copy)
        return .ended(.settling, reason: "It changed while it was read.")
      }
      guard try copy.status().identity.size == written.size else {
        throw FileError(.changed, "The copy has the wrong size.", path: copy.path)
      }
      return .next(
        Brought(
          taking: taking, digest: written.digest, size: written.size, file: copy,
          wasRenamed: false, failure: written.failure))
    } catch {
      // Clean-up: the source is untouched, the error says what happened.
      try? incoming.remove(taking.incoming.copy)
      throw error
    }
  }

  private func fill(
    _ copy: Descriptor, from taking: Taking
  ) throws(FileError) -> Written {
    let size = taking.status.identity.size
    if try copy.clone(from: taking.file) {
      let (digest, size) = try copy.hash(expecting: size, isStopped: isStopped)
      return Written(digest: digest, size: size, failure: nil)
    }
    return try write(taking.file, to: copy, expecting: size)
  }

  /// Handles a failed fsync of a copy: writes a new inode from the source.
  private func copyAgain(_ taking: Taking, digest: Digest) throws(FileError) -> Step<Landed> {
    try incoming.remove(taking.incoming.copy)
    let copy = try Descriptor.open(
      taking.incoming.copy, in: incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
      mode: 0o600)
    try taking.file.seek(to: 0)
    let written = try write(taking.file, to: copy, expecting: taking.status.identity.size)
    if let failure = written.failure { throw failure }
    guard written.digest == digest else {
      try incoming.remove(taking.incoming.copy)
      return .ended(.settling, reason: "It changed while it was read.")
    }
    try copy.sync()
    try markFlushed(copy, of: taking)
    return .next(Landed(taking: taking, digest: digest, wasRenamed: false))
  }

  /// Makes a copy read-only, which marks its bytes as on disk, and gives it the source's time.
  ///
  /// After a power loss, a file may have its size but lack its bytes. The mode is set after the
  /// flush, so recovery trusts a copy whose source it can't see only if it is read-only. The time
  /// lets recovery match an original that was stored but not recorded to its import. Neither is
  /// flushed.
  private func markFlushed(_ copy: Descriptor, of taking: Taking) throws(FileError) {
    // If the file system keeps no such time, recovery has one clue less.
    try? copy.setModified(taking.status.identity.modified)
    try copy.setPermissions(Self.flushedPermissions)
  }

  /// The mode of an original, and of a copy whose bytes are on disk.
  static let flushedPermissions: UInt32 = 0o444

  /// How many bytes of a copy are written before the disk starts to write them out.
  private static let pieceWritten = 64 << 20

  /// Copies and hashes while the bytes are in the processor's cache.
  private func write(
    _ file: Descriptor, to copy: Descriptor, expecting expected: Int
  ) throws(FileError) -> Written {
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
    return Written(digest: hash.finalize(), size: size, failure: failure)
  }

  private func describe(_ error: FileError) -> String {
    // Without figures, the error says enough.
    guard error.code == .noSpace, let facts = try? incoming.fileSystem() else {
      return error.message
    }
    return "\(error.message) \(ByteSize(bytes: facts.freeBytes)) are free."
  }
}
