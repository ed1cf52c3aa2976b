import Glibc
package import PipelineModel

/// Why an operation on a file failed.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What a caller can act upon.
  package enum Code: Hashable, Sendable {
    case notFound, exists, permission, noSpace, readOnly, crossDevice, busy, link
    case notRegular, changed, ioError, tooManyOpen, stopped, other
    /// This user has reached the limit of watched folders, or of inotify instances.
    case watchLimit, watcherLimit
    /// Another user could replace what is there.
    case untrusted
    /// What the file is on can't be used for now, whatever the file: a store that can't be reached.
    case unavailable
    /// This machine has no place for it, now or later.
    case unsupported
  }

  package var code: Code
  /// A sentence with the operation and the path.
  package var message: String
  /// The value of `errno`; 0 if the kernel reported no error.
  package var errno: Int32
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

  package var description: String { message }

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

/// Runs `body`; returns `nil` if something that it needs does not exist.
@discardableResult
package func ifThere<Value>(_ body: () throws(FileError) -> Value) throws(FileError) -> Value? {
  do throws(FileError) {
    return try body()
  } catch let error where error.code == .notFound {
    return nil
  }
}

/// Makes a system call, repeating it while a signal interrupts it.
///
/// - Parameters:
///   - operation: a verb for the error message, such as “open”.
///   - path: the path for the error message.
///   - call: returns a negative number and sets `errno` on failure.
@discardableResult
func systemCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ path: BytePath?, _ call: () -> Result
) throws(FileError) -> Result {
  while true {
    let result = call()
    if result >= 0 { return result }
    let code = errno
    if code != EINTR { throw FileError(operation, path, errno: code) }
  }
}
