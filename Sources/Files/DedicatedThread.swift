import Glibc
import PipelineModel

/// A thread that does one thing, and is not waited for. Source: pthread_create(3).
///
/// Not one of Dispatch's: those are begun and ended as Dispatch likes, and this one
/// is blocked for as long as the process lives. Signals to the process go to others.
package struct DedicatedThread: Sendable {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread.
  ///
  /// - Throws: `FileError` where this user may have no more of them.
  package static func start(_ run: @escaping @Sendable () -> Void) throws(FileError) {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Body(run))
    // Held back before it is made: it inherits that, and a signal finds it in no moment.
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
      // Nobody else will take what was kept for the thread.
      context.release()
      throw FileError("start a thread of", "this program", errno: code)
    }
    pthread_detach(thread)
  }
}
