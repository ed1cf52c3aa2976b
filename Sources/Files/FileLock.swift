import CLinux
import Glibc
package import PipelineModel

extension Descriptor {
  /// Waits until no other process has this folder locked, and locks it. Source: flock(2).
  package func lockFolder() throws(FileError) {
    try systemCall("lock", path) { flock(number, LOCK_EX) }
  }

  /// Lets the lock go; closing does it, too.
  package func unlockFolder() { _ = flock(number, LOCK_UN) }
}

/// An exclusive lock that goes with its process, however that ends. Source: flock(2).
package final class FileLock: Sendable {
  private let file: Descriptor
  /// The folder, locked as well: a lock file that somebody removed would be made
  /// anew by the next process, and there would be two holders.
  private let place: Descriptor

  private init(file: Descriptor, place: Descriptor) {
    self.file = file
    self.place = place
  }

  /// Takes the lock, or returns `nil` if another process holds it.
  ///
  /// The file is made where it is missing and holds the number of the process.
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
    if isBusy(place, LOCK_EX) { return nil }
    try systemCall("write", file.path) { ftruncate(file.number, 0) }
    try file.write(Array("\(getpid())\n".utf8))
    return FileLock(file: file, place: place)
  }

  /// Whether another process keeps a folder from being locked.
  ///
  /// Network file systems lock no folders; there the file alone has to do.
  private static func isBusy(_ place: Descriptor, _ kind: Int32) -> Bool {
    flock(place.number, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// Whether some process holds the lock; nothing is made or written.
  package static func isHeld(_ name: BytePath, in folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      let file = try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
      try systemCall("lock", file.path) { flock(file.number, LOCK_SH | LOCK_NB) }
    } catch let error where error.code == .busy {
      return true
    } catch let error where error.code == .notFound {
      // Nobody has it, or somebody has removed it.
    }
    return isBusy(try Descriptor.openFolder(".", in: folder), LOCK_SH)
  }

  /// Returns the process that a lock file names, for messages only.
  package static func holder(_ name: BytePath, in folder: Descriptor) -> Int? {
    guard let bytes = try? folder.readFile(name, limit: 64) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    return Int(text.prefix { $0.isNumber })
  }
}
