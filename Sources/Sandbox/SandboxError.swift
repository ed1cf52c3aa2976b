import Glibc
package import PipelineModel

/// Why a process could not be restricted, or not become another program.
package struct SandboxError: Error, Hashable, Sendable {
  /// What a caller can act upon.
  package enum Code: Hashable, Sendable {
    /// The kernel has not what is needed.
    case unsupported
    /// A file or folder that the policy names is missing, or can't be reached.
    case path
    /// The program can't be started as it is.
    case program
    /// The process has more threads than one, which would stay free.
    case threads
    /// The kernel or a library refused.
    case system
  }

  /// What a caller can act upon.
  package var code: Code
  /// A sentence that says what failed, why, and where it helps what to do.
  package var message: String
  /// The value of `errno`, 0 where the kernel did not fail.
  package var cause: Int32
  /// The file, folder or program.
  package var path: BytePath?

  /// Makes an error that the kernel did not report.
  init(_ code: Code, _ message: String, path: BytePath? = nil, cause: Int32 = 0) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// Makes an error from a failed system call.
  init(_ operation: String, errno: Int32) {
    self.init(
      .system, "Can't \(operation): \(String(cString: strerror(errno))).", cause: errno)
  }
}

/// Makes a system call that no signal can interrupt.
@discardableResult
func systemCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ call: () -> Result
) throws(SandboxError) -> Result {
  let result = call()
  if result < 0 {
    let code = errno
    throw SandboxError(operation, errno: code)
  }
  return result
}
