import Foundation
import Glibc

/// Runs work, or a command, with the permissions of an ordinary user, where the tests run as root.
///
/// Credentials belong to a thread in the kernel's eyes; only glibc changes them
/// for all threads. So the system calls are made directly, on a thread of their
/// own, and the other threads stay what they are. Source: setresuid(2), “C
/// library/kernel differences”.
package enum Unprivileged {
  /// The user and group that work is done as: nobody.
  package static let user: UInt32 = 65534

  /// What a command begins with to be run as that user.
  package static let prefix =
    geteuid() == 0
    ? ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"] : []

  private final class Outcome<Value>: @unchecked Sendable {
    // @unchecked because it is read only after the thread that wrote it has signalled.
    var result: Result<Value, any Error>?
  }

  private typealias SystemCall = @convention(c) (Int, Int, Int, Int) -> Int

  /// Calls `body` on a thread without privileges and returns what it returns.
  package static func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    guard geteuid() == 0 else { return try body() }
    let outcome = Outcome<Value>()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      outcome.result = Result {
        try drop()
        return try body()
      }
      done.signal()
    }
    thread.start()
    done.wait()
    guard let result = outcome.result else { throw POSIXError(.ECHILD) }
    return try result.get()
  }

  private static func drop() throws {
    #if arch(x86_64)
      let (setGroup, setUser) = (119, 117)
    #elseif arch(arm64)
      let (setGroup, setUser) = (149, 147)
    #endif
    guard let symbol = dlsym(nil, "syscall") else { throw POSIXError(.ENOSYS) }
    let call = unsafeBitCast(symbol, to: SystemCall.self)
    let id = Int(user)
    guard call(setGroup, id, id, id) == 0, call(setUser, id, id, id) == 0 else {
      throw POSIXError(.EPERM)
    }
  }
}
