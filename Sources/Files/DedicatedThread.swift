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
