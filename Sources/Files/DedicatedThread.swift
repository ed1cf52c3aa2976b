import Glibc

/// A thread that does one thing, and is not waited for. Source: pthread_create(3).
///
/// Not one of Dispatch's: those are begun and ended as Dispatch likes, and this one
/// is blocked for as long as the process lives.
package struct DedicatedThread: Sendable {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread.
  package static func start(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Body(run))
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        // Retained above for this thread.
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    // Without a thread nothing could go on; this happens at the limit of processes only.
    guard code == 0 else { fatalError("A thread can't be started: \(code).") }
    pthread_detach(thread)
  }
}
