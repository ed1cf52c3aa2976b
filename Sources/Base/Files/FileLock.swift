import CLinux
import Glibc
package import PipelineModel

extension Descriptor {
  /// Locks this folder, waiting for other processes to unlock it. Source: flock(2).
  package func lockFolder() throws(FileError) {
    try systemCall("lock", path) { flock(number, LOCK_EX) }
  }

  /// Locks this file or folder unless somebody else has. Source: flock(2).
  ///
  /// - Parameter isShared: whether others may hold such a lock, too.
  /// - Returns: whether it is locked, because network file systems can't lock folders; `nil` if
  ///   somebody else holds the lock.
  package func lockIfFree(isShared: Bool = false) -> Bool? {
    if flock(number, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 { return true }
    return errno == EWOULDBLOCK ? nil : false
  }

  /// Releases the lock; closing does so, too.
  package func unlock() { _ = flock(number, LOCK_UN) }
}

/// An exclusive lock that ends with its process, however that ends. Source: flock(2).
package final class FileLock: Sendable {
  private let file: Descriptor
  /// The folder, locked as well: if somebody removed the lock file, the next process would create a
  /// new one, and two would hold the lock.
  private let place: Descriptor

  private init(file: Descriptor, place: Descriptor) {
    self.file = file
    self.place = place
  }

  /// Takes the lock; returns `nil` if another process holds it.
  ///
  /// Creates the file if missing and writes the process ID to it.
  package static func attempt(_ name: BytePath, in folder: Descriptor) throws(FileError)
    -> FileLock?
  {
    let file = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    do {
      try systemCall("lock", file.path) { flock(file.number, LOCK_EX | LOCK_NB) }
    } catch let error where error.code == .busy {
      return nil
    }
    let place = try Descriptor.openFolder(".", in: folder)
    if place.lockIfFree() == nil { return nil }
    try systemCall("write", file.path) { ftruncate(file.number, 0) }
    try file.write(Array("\(getpid())\n".utf8))
    return FileLock(file: file, place: place)
  }

  /// Whether a process holds the lock; creates and writes nothing.
  package static func isHeld(_ name: BytePath, in folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      let file = try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
      try systemCall("lock", file.path) { flock(file.number, LOCK_SH | LOCK_NB) }
    } catch let error where error.code == .busy {
      return true
    } catch let error where error.code == .notFound {
      // Nobody holds it, or somebody removed the file.
    }
    return try Descriptor.openFolder(".", in: folder).lockIfFree(isShared: true) == nil
  }

  /// Returns the process ID in a lock file, for messages only.
  package static func holder(_ name: BytePath, in folder: Descriptor) -> Int? {
    guard let bytes = try? folder.readFile(name, limit: 64) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    return Int(text.prefix { $0.isNumber })
  }
}

/// A read lease shows whether any process has a file open for writing, and blocks new writers while
/// held. Source: fcntl(2), “Leases”.
extension Descriptor {
  package enum Lease: Hashable, Sendable {
    /// Nobody writes, and new writers wait until the lease is released.
    case granted
    /// A process has the file open for writing.
    case refused
    /// Unknown: the file is not ours, or the file system has no leases.
    case unavailable
  }

  package func acquireLease() -> Lease {
    // The kernel announces a waiting writer by SIGIO, which by default ends the process;
    // `holdsLease` polls instead.
    signal(SIGIO, SIG_IGN)
    let result = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_read_lease))
    if result == 0 { return .granted }
    return errno == EAGAIN ? .refused : .unavailable
  }

  /// Whether the lease is intact; with a waiting writer, the kernel reports its target type.
  package var holdsLease: Bool {
    pipeline_fcntl(number, Int32(pipeline_get_lease), 0) == Int32(pipeline_read_lease)
  }

  /// Releases the lease; closing the file does so, too.
  package func releaseLease() {
    _ = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_no_lease))
  }
}
