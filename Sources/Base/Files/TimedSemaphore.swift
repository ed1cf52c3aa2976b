import Glibc
import Synchronization

/// A counting semaphore that is waited for up to some time, whatever happens to the wall clock meanwhile.
///
/// On Linux, a wait for a semaphore of Dispatch ends at a moment of the wall clock: where that is set back by ten minutes,
/// the wait takes ten minutes more. Source: libdispatch, `_dispatch_sema4_timedwait`; sem_timedwait(3).
package final class TimedSemaphore: Sendable {
  // Both safe because their functions may be called on any thread, and nobody uses them once the object is gone.
  private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private nonisolated(unsafe) let arrival: UnsafeMutablePointer<pthread_cond_t>
  /// Signals that no wait has ended for; changed under the mutex only.
  private let count = Atomic(0)

  package init() {
    mutex = .allocate(capacity: 1)
    arrival = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(arrival, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(arrival)
    pthread_mutex_destroy(mutex)
    arrival.deallocate()
    mutex.deallocate()
  }

  /// Lets one wait end, now or later.
  package func signal() {
    pthread_mutex_lock(mutex)
    count.add(1, ordering: .relaxed)
    pthread_cond_signal(arrival)
    pthread_mutex_unlock(mutex)
  }

  /// Waits for a signal.
  ///
  /// - Returns: `false` if none came within the time.
  package func wait(for time: Duration) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    // At most a year, so that no sum overflows.
    let (seconds, fraction) = min(max(time, .zero), .seconds(31_536_000)).components
    end.tv_sec += Int(seconds)
    end.tv_nsec += Int(fraction / 1_000_000_000)
    if end.tv_nsec >= 1_000_000_000 {
      end.tv_sec += 1
      end.tv_nsec -= 1_000_000_000
    }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while count.load(ordering: .relaxed) == 0 {
      // Any error ends the wait; there is none but the end of the time.
      if pthread_cond_timedwait(arrival, mutex, &end) != 0 { return false }
    }
    count.subtract(1, ordering: .relaxed)
    return true
  }
}
