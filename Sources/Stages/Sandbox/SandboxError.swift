import Glibc

/// Why a process can't be restricted or can't execute another program.
///
/// Only the message leaves the process, as the last line of its log.
package struct SandboxError: Error, Hashable, Sendable {
  /// The kind of failure.
  package enum Code: Hashable, Sendable {
    /// The kernel lacks a required feature.
    case unsupported
    /// A file or folder of the policy is missing or unreachable.
    case path
    /// The program can't be started as it is.
    case program
    /// The process has several threads, which would stay unrestricted.
    case threads
    /// The kernel or a library refused.
    case system
  }

  /// The kind of failure.
  package var code: Code
  /// A sentence that says what failed, why and, where useful, what to do.
  package var message: String

  /// Creates an error that the kernel did not report.
  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Creates an error from a failed system call.
  init(_ operation: String, errno: Int32) {
    self.init(.system, "Can't \(operation): \(String(cString: strerror(errno))).")
  }
}

/// Makes a system call that signals can't interrupt.
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
