import CLinux
import Glibc

/// A counting semaphore that is waited for up to some time, whatever happens to the wall clock meanwhile.
///
/// On Linux, a wait for a semaphore of Dispatch ends at a moment of the wall clock: where that is set back by ten minutes,
/// the wait takes ten minutes more. Source: libdispatch, `_dispatch_sema4_timedwait`; sem_timedwait(3).
package final class TimedSemaphore: Sendable {
  // Safe because its functions may be called on any thread, and nobody uses it once the object is gone.
  private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

  package init() {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  /// Lets one wait end, now or later.
  package func signal() { sem_post(semaphore) }

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
    while pipeline_wait_until(semaphore, &end) != 0 {
      // A signal that the process has handled.
      if errno != EINTR { return false }
    }
    return true
  }
}
