import Dispatch
import Synchronization

/// Lets one thread sleep until a moment comes or something happens.
package final class Wakeup: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  /// Whether a call of `wake` has not been answered yet: many calls are one.
  private let isDue = Atomic(false)

  package init() {}

  /// Ends the sleep, or keeps the next one from beginning; from any thread.
  package func wake() {
    if !isDue.exchange(true, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }

  /// Sleeps until `wake` or the moment; at once if `wake` was called since the last sleep.
  package func sleep(until moment: ContinuousClock.Instant) {
    let left = moment - ContinuousClock().now
    // A day at most: what is asked for may be beyond what Dispatch can count.
    let seconds = min(max(0, left / .seconds(1)), 86_400)
    _ = semaphore.wait(timeout: .now() + seconds)
    // Before the reason is looked at, so that another call during that is not lost.
    isDue.store(false, ordering: .sequentiallyConsistent)
  }
}
