import CLinux
import Glibc
package import PipelineModel

/// An exclusive lock on one byte of a file, which may lie behind its end.
///
/// Ends with this object, or with its process. Bytes are locked independently, so one file has locks for any
/// number of things, and nobody need remove a lock's file. Source: fcntl(2), “Open file description locks”.
package final class ByteLock: Sendable {
  private let file: Descriptor

  private init(_ file: Descriptor) { self.file = file }

  /// Waits for the lock. Creates the file if it is missing.
  ///
  /// Blocks the calling thread.
  package static func wait(
    for byte: Int64, of name: BytePath, in folder: Descriptor
  ) throws(FileError) -> ByteLock {
    let file = try open(name, in: folder)
    try systemCall("lock", file.path) { pipeline_lock_byte(file.number, byte, 1) }
    return ByteLock(file)
  }

  /// Takes the lock; returns `nil` if somebody else holds it.
  package static func attempt(
    _ byte: Int64, of name: BytePath, in folder: Descriptor
  ) throws(FileError) -> ByteLock? {
    let file = try open(name, in: folder)
    do throws(FileError) {
      try systemCall("lock", file.path) { pipeline_lock_byte(file.number, byte, 0) }
    } catch {
      // Source: fcntl(2): either, depending on the system.
      if [EAGAIN, EACCES].contains(error.errno) { return nil }
      throw error
    }
    return ByteLock(file)
  }

  private static func open(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    try Descriptor.open(name, in: folder, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
  }
}
