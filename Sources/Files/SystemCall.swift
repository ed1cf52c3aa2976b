import Glibc
import PipelineModel

/// Makes a system call, again while a signal interrupts it.
///
/// - Parameters:
///   - operation: a verb for the error's sentence, such as “open”.
///   - path: the path for the error's sentence.
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

extension BytePath {
  /// Calls `body` with the path as a C string.
  func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    body(bytes.map { CChar(bitPattern: $0) } + [0])
  }
}
