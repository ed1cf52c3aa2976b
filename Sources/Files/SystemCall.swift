import Glibc
import PipelineModel

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

extension BytePath {
  func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    body(bytes.map { CChar(bitPattern: $0) } + [0])
  }
}
