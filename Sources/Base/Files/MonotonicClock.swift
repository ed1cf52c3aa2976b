import Glibc

/// The kernel's clock that stops while the machine sleeps. Source: clock_gettime(2).
package enum MonotonicClock {
  /// Microseconds since an unspecified moment at boot.
  package static var microseconds: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}
