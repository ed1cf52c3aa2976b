import CLinux
import Glibc
package import PipelineModel

/// An open file or folder; closed with the last reference.
///
/// Every descriptor is close-on-exec. Errors of methods name the path.
package final class Descriptor: Sendable {
  /// The kernel's number, valid while this object lives.
  package let number: Int32
  /// The path it was opened by.
  package let path: BytePath

  /// Takes ownership of an open descriptor.
  package init(takingOver number: Int32, path: BytePath) {
    self.number = number
    self.path = path
  }

  deinit {
    // Nothing can be done about a failure here: what must be durable was synced.
    _ = Glibc.close(number)
  }

  /// Opens a path, relative to a folder if given. Source: open(2).
  ///
  /// - Parameters:
  ///   - folder: where a relative path begins; the working folder if `nil`.
  ///   - flags: `O_…` flags; `O_CLOEXEC` is added.
  ///   - mode: permission bits of a new file.
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

  /// Opens a folder for listing and syncing.
  package static func openFolder(
    _ path: BytePath, in folder: Descriptor? = nil, followsLinks: Bool = true
  ) throws(FileError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | (followsLinks ? 0 : O_NOFOLLOW)
    return try open(path, in: folder, flags: flags)
  }

  /// Opens a folder that need not be readable, for its status only. Source: open(2), `O_PATH`.
  package static func openFolderPlace(_ path: BytePath) throws(FileError) -> Descriptor {
    try open(path, flags: Int32(pipeline_open_place) | O_DIRECTORY)
  }

  /// Returns the file's status. Source: fstat(2).
  package func status() throws(FileError) -> FileStatus {
    var result = stat()
    try systemCall("examine", path) { fstat(number, &result) }
    return FileStatus(result)
  }

  /// The number of the mount through which it was opened; `nil` if the kernel does not say.
  ///
  /// No rename goes from one mount to another, even of one file system. Source: rename(2), and `fdinfo` in proc(5).
  package func mountNumber() throws(FileError) -> Int? {
    let place = BytePath("/proc/self/fdinfo/\(number)")
    let file = try ifThere { () throws(FileError) in try Descriptor.open(place, flags: O_RDONLY) }
    guard let file else { return nil }
    let lines = String(decoding: try file.readToEnd(limit: 1 << 16), as: UTF8.self)
      .split(separator: "\n")
    let value = lines.first { $0.hasPrefix("mnt_id:") }?.split(separator: "\t").last
    return value.flatMap { Int($0) }
  }

  /// Reads up to the buffer's size from the current position; 0 at the end. Source: read(2).
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
    try systemCall("read", path) { Glibc.read(number, buffer.baseAddress, buffer.count) }
  }

  /// Reads up to the buffer's size from an offset, wherever the position is; 0 at the end. Source:
  /// pread(2).
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(FileError) -> Int {
    try systemCall("read", path) {
      pread(number, buffer.baseAddress, buffer.count, off_t(offset))
    }
  }

  /// Writes all bytes, repeating short writes. Source: write(2).
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

  /// Waits until the bytes, and the metadata needed to find them, are on disk. Source:
  /// fdatasync(2).
  package func syncData() throws(FileError) {
    try systemCall("sync", path) { fdatasync(number) }
  }

  /// Starts writing dirty pages to disk without waiting. Source: sync_file_range(2).
  ///
  /// - Throws: `FileError` if the file system has no space for them: a later flush may not report
  ///   that again, as ext4 drops the pages.
  package func startWriting() throws(FileError) {
    try systemCall("write", path) {
      let result = pipeline_start_writing(number)
      // A kernel without the call: the flush does everything.
      return result < 0 && errno == ENOSYS ? 0 : result
    }
  }

  /// Writes all bytes to disk and waits for them, but not for the metadata needed to find them, nor
  /// for the disk's own cache: the first half of a flush, with all its errors. Source:
  /// sync_file_range(2).
  package func writePages() throws(FileError) {
    try systemCall("sync", path) { pipeline_write_pages(number) }
  }

  /// Truncates a file and waits until that is on disk. Source: ftruncate(2).
  package func truncate(to size: Int) throws(FileError) {
    try systemCall("truncate", path) { ftruncate(number, off_t(size)) }
    try sync()
  }

  /// Sets the permission bits. Source: fchmod(2).
  package func setPermissions(_ mode: UInt32) throws(FileError) {
    try systemCall("set the permissions of", path) { fchmod(number, mode) }
  }

  /// Sets the modification time, in nanoseconds since 1970. Source: futimens(3).
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
  /// - Returns: `false` if the file system can't, or the two files are on different ones.
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

  /// Opens a regular file for reading; never blocks on anything else.
  ///
  /// - Throws: `FileError` of code `notRegular` for a link, a folder, a pipe, a socket or a device.
  package static func openRegular(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    let file: Descriptor
    do throws(FileError) {
      // A pipe without a writer would otherwise block the caller.
      file = try open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      // The kernel's reason for a link or a socket says little.
      if let kind = try? folder.status(of: name).kind, kind != .regular {
        throw .notRegular(folder.path.appending(name), kind)
      }
      throw error
    }
    let kind = try file.status().kind
    guard kind == .regular else { throw .notRegular(file.path, kind) }
    return file
  }
}

extension FileError {
  /// The error of a path that is not a regular file.
  package static func notRegular(_ path: BytePath, _ kind: FileStatus.Kind) -> FileError {
    FileError(.notRegular, "“\(path.printable)” is \(kind.name), not a regular file.", path: path)
  }
}
