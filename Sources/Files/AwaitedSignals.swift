import CLinux
import Glibc

/// Signals that a thread waits for, so that they interrupt no other. Source: sigtimedwait(2).
package struct AwaitedSignals: Sendable {
  private let numbers: [Int32]
  private let set: sigset_t

  /// Makes it for some signals.
  package init(_ numbers: [Int32]) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    self.numbers = numbers
    self.set = set
  }

  /// Holds them back in this thread and in all that it will make, and so for who waits.
  ///
  /// Threads of Dispatch and `DedicatedThread` hold all signals back by themselves.
  package func holdBack() {
    var set = set
    // One that is ignored would never come.
    for number in numbers { signal(number, SIG_DFL) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of them.
  ///
  /// - Parameter milliseconds: how long, below 1000; for ever by default.
  /// - Returns: its number; `nil` if none came in time.
  package func next(within milliseconds: Int? = nil) -> Int32? {
    var set = set
    let number: Int32
    if let milliseconds {
      var time = timespec(tv_sec: 0, tv_nsec: milliseconds * 1_000_000)
      number = sigtimedwait(&set, nil, &time)
    } else {
      number = sigwaitinfo(&set, nil)
    }
    return number > 0 ? number : nil
  }
}
