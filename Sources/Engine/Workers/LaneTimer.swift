import Dispatch

/// Ticks on a queue while something is to be watched.
///
/// One source for as long as the lane lives: a new one for each job costs memory that
/// Dispatch is slow to give back.
final class LaneTimer: @unchecked Sendable {
  // @unchecked because Dispatch documents its sources as safe to use from any thread.
  private let source: any DispatchSourceTimer

  init(queue: DispatchQueue) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .distantFuture)
  }

  deinit { source.cancel() }

  /// Sets what is called at each tick; once, before the first `start`.
  func onTick(_ body: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: body)
    source.resume()
  }

  /// Ticks from now on, every so many seconds.
  func start(every seconds: Double) {
    source.schedule(deadline: .now() + seconds, repeating: seconds)
  }

  /// Ticks no more.
  func stop() { source.schedule(deadline: .distantFuture) }
}
