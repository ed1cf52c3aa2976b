import Dispatch
import Synchronization

/// Lets one thread sleep until a moment or an event.
package final class Wakeup: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  /// Whether a call of `wake` is still unanswered: many calls count as one.
  private let isDue = Atomic(false)

  package init() {}

  /// Ends the sleep, or prevents the next one; callable from any thread.
  package func wake() {
    if !isDue.exchange(true, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }

  /// Sleeps until `wake` or the moment; returns at once if `wake` was called since the last sleep.
  package func sleep(until moment: ContinuousClock.Instant) {
    let left = moment - ContinuousClock().now
    // At most a day: the moment may be beyond what Dispatch can represent.
    let seconds = min(max(0, left / .seconds(1)), 86_400)
    _ = semaphore.wait(timeout: .now() + seconds)
    // Before the reason is examined, so that a call in between is not lost.
    isDue.store(false, ordering: .sequentiallyConsistent)
  }
}
