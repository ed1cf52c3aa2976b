import CLinux
import Glibc

/// Signals for one thread to wait for, so that they interrupt no other. Source: sigtimedwait(2).
package struct AwaitedSignals: Sendable {
  private let numbers: [Int32]
  private let set: sigset_t

  /// Creates a set of signals.
  package init(_ numbers: [Int32]) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    self.numbers = numbers
    self.set = set
  }

  /// Blocks them in this thread and all threads it creates, so they stay pending for the waiter.
  ///
  /// Threads of Dispatch and `DedicatedThread` block all signals themselves.
  package func holdBack() {
    var set = set
    // An ignored signal would never arrive.
    for number in numbers { signal(number, SIG_DFL) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of the signals.
  ///
  /// - Parameter milliseconds: the timeout, below 1000; none by default.
  /// - Returns: the signal's number; `nil` if none arrived in time.
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
