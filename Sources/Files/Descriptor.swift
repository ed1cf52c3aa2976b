import CLinux
import Glibc
package import PipelineModel

/// An open file or folder; closed when the last reference goes.
///
/// Every descriptor is close-on-exec. Methods name the path in their errors.
package final class Descriptor: Sendable {
  /// The kernel's number, valid as long as this object lives.
  package let number: Int32
  /// The path that it was opened by.
  package let path: BytePath

  /// Takes over an open descriptor.
  package init(takingOver number: Int32, path: BytePath) {
    self.number = number
    self.path = path
  }

  deinit {
    // Nothing can be done about a failure here: what must be durable was synced.
    _ = Glibc.close(number)
  }

  /// Opens a path, relative to a folder where one is given. Source: open(2).
  ///
  /// - Parameters:
  ///   - folder: where a relative path begins; the working folder if `nil`.
  ///   - flags: `O_…` flags; `O_CLOEXEC` is added.
  ///   - mode: permission bits of a file that is made.
  package static func open(
    _ path: BytePath, in folder: Descriptor? = nil, flags: Int32, mode: UInt32 = 0
  ) throws(FileError) -> Descriptor {
    let whole = folder.map { $0.path.appending(path) } ?? path
    let number = try systemCall("open", whole) {
      path.withCString {
        pipeline_openat(folder?.number ?? AT_FDCWD, $0, flags | O_CLOEXEC, mode)
      }
    }
    return Descriptor(takingOver: number, path: whole)
  }

  /// Opens a folder for reading its names and syncing it.
  package static func openFolder(
    _ path: BytePath, in folder: Descriptor? = nil, followsLinks: Bool = true
  ) throws(FileError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | (followsLinks ? 0 : O_NOFOLLOW)
    return try open(path, in: folder, flags: flags)
  }

  /// Returns what the kernel knows of the file. Source: fstat(2).
  package func status() throws(FileError) -> FileStatus {
    var result = stat()
    try systemCall("examine", path) { fstat(number, &result) }
    return FileStatus(result)
  }

  /// Reads up to the buffer's size from the current position; 0 at the end. Source: read(2).
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
    try systemCall("read", path) { Glibc.read(number, buffer.baseAddress, buffer.count) }
  }

  /// Writes all the bytes, however short the kernel's writes are. Source: write(2).
  package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      let count = try systemCall("write", path) {
        Glibc.write(number, piece.baseAddress, piece.count)
      }
      rest = rest.dropFirst(count)
    }
  }

  /// Writes all the bytes.
  package func write(_ bytes: [UInt8]) throws(FileError) {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(FileError) in try write(buffer) }
    }.get()
  }

  /// Moves the position. Source: lseek(2).
  package func seek(to offset: Int) throws(FileError) {
    try systemCall("seek in", path) { lseek(number, off_t(offset), SEEK_SET) }
  }

  /// Waits until bytes and metadata are on disk. Source: fsync(2).
  package func sync() throws(FileError) {
    try systemCall("sync", path) { fsync(number) }
  }

  /// Waits until the bytes, and what is needed to find them, are on disk. Source: fdatasync(2).
  package func syncData() throws(FileError) {
    try systemCall("sync", path) { fdatasync(number) }
  }

  /// Starts writing dirty pages to disk without waiting. Source: sync_file_range(2).
  ///
  /// - Throws: `FileError` where the file system has no place for them: a later flush may not
  ///   tell of it again, as ext4 drops the pages.
  package func startWriting() throws(FileError) {
    try systemCall("write", path) {
      let result = pipeline_start_writing(number)
      // A kernel without it: the flush does everything.
      return result < 0 && errno == ENOSYS ? 0 : result
    }
  }

  /// Writes all bytes to the disk and waits for them, but not for what is needed to find them,
  /// nor for the disk's own cache: a flush's first half, with all errors that it would tell of.
  /// Source: sync_file_range(2).
  package func writePages() throws(FileError) {
    try systemCall("sync", path) { pipeline_write_pages(number) }
  }

  /// Cuts a file off, and waits until that is on disk. Source: ftruncate(2).
  package func truncate(to size: Int) throws(FileError) {
    try systemCall("truncate", path) { ftruncate(number, off_t(size)) }
    try sync()
  }

  /// Sets the permission bits. Source: fchmod(2).
  package func setPermissions(_ mode: UInt32) throws(FileError) {
    try systemCall("set the permissions of", path) { fchmod(number, mode) }
  }

  /// Sets the modification time in nanoseconds since 1970. Source: futimens(3).
  package func setModified(_ nanoseconds: Int64) throws(FileError) {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let time =
      rest < 0
      ? timespec(tv_sec: Int(seconds) - 1, tv_nsec: Int(rest) + 1_000_000_000)
      : timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
    let times = [timespec(tv_sec: 0, tv_nsec: 0x3FFF_FFFE /* UTIME_OMIT */), time]
    try systemCall("set the time of", path) { futimens(number, times) }
  }

  /// Makes this file share the blocks of another. Source: ioctl_ficlone(2).
  ///
  /// - Returns: `false` where the file system can't, or the two are on different ones.
  package func clone(from source: Descriptor) throws(FileError) -> Bool {
    while pipeline_clone(number, source.number) < 0 {
      let code = errno
      switch code {
      case EINTR: continue
      case EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM, EBADF: return false
      default: throw FileError("clone", source.path, errno: code)
      }
    }
    return true
  }
}
