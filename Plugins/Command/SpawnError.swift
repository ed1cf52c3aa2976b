import Glibc

/// Why a program can't be started, with the kernel's error number.
struct SpawnError: Error {
  let number: Int32
  let operation: String

  init(_ operation: String, _ number: Int32) {
    (self.operation, self.number) = (operation, number)
  }

  var words: String { String(cString: strerror(number)) }
}
