import Glibc
package import PipelineModel

/// Why an operation on a file failed.
package struct FileError: Error, Hashable, Sendable {
  /// What a caller can act upon.
  package enum Code: Hashable, Sendable {
    case notFound, exists, permission, noSpace, readOnly, crossDevice, busy, link
    case notRegular, changed, ioError, tooManyOpen, stopped, other
    /// This user has reached the limit of watched folders, or of inotify instances.
    case watchLimit, watcherLimit
    /// Another user could replace what is there.
    case untrusted
  }

  /// The kind of error.
  package var code: Code
  /// A sentence with the operation and the path.
  package var message: String
  /// The value of `errno`; 0 if the kernel reported no error.
  package var errno: Int32
  /// The path of the file.
  package var path: BytePath?

  /// Creates an error from a failed system call.
  package init(_ operation: String, _ path: BytePath?, errno: Int32) {
    self.errno = errno
    self.path = path
    code = Self.code(of: errno)
    let reason = String(cString: strerror(errno))
    message = "Can't \(operation) \(path.map { "“\($0.printable)”" } ?? "a file"): \(reason)."
  }

  /// Creates an error that did not come from the kernel.
  package init(_ code: Code, _ message: String, path: BytePath?) {
    self.code = code
    self.message = message
    self.path = path
    errno = 0
  }

  /// The error of work interrupted because the user asked to stop.
  package static func stopped(_ path: BytePath) -> FileError {
    FileError(
      .stopped, "Work on “\(path.printable)” ended because the program was asked to stop.",
      path: path)
  }

  private static func code(of errno: Int32) -> Code {
    switch errno {
    case ENOENT, ENOTDIR: .notFound
    case EEXIST, ENOTEMPTY: .exists
    case EACCES, EPERM: .permission
    case ENOSPC, EDQUOT, EFBIG: .noSpace
    case EROFS: .readOnly
    case EXDEV: .crossDevice
    case EAGAIN, EBUSY, ETXTBSY: .busy
    case ELOOP: .link
    case EIO: .ioError
    case EMFILE, ENFILE, ENOMEM: .tooManyOpen
    default: .other
    }
  }
}
