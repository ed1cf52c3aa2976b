import Glibc
import PipelineModel

/// A thread for one task, which nobody joins. Source: pthread_create(3).
///
/// Not a Dispatch thread: Dispatch starts and ends those at will, and this one blocks for the
/// process's lifetime. Signals to the process go to other threads.
package struct DedicatedThread: Sendable {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread.
  ///
  /// - Throws: `FileError` if the user's limit of threads is reached.
  package static func start(_ run: @escaping @Sendable () -> Void) throws(FileError) {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Body(run))
    // Blocked before creation, so that the thread inherits the mask and never receives a signal.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        // Retained above for this thread.
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
      // The thread that would release this was not made.
      context.release()
      throw FileError("start a thread of", "this program", errno: code)
    }
    pthread_detach(thread)
  }
}

/// Signals for one thread to wait for, so that they interrupt no other. Source: sigtimedwait(2).
package struct AwaitedSignals: Sendable {
  private let numbers: [Int32]
  private let set: sigset_t

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
