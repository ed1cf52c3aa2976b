import PipelineModel

/// When to scan a source completely.
struct RescanSchedule {
  typealias Instant = ContinuousClock.Instant

  /// The interval of scans, whatever the kernel reports.
  let rescan: Duration
  /// Whether scans are the only way to find changes.
  var isPolling = false {
    didSet { if !isPolling { duration = .zero } }
  }
  private(set) var next: Instant
  /// Whether the next scan has a reason other than the interval.
  private(set) var isSpecial = false
  private var duration = Duration.zero
  /// When to retry failed files.
  private var nextFull: Instant

  private static let shortest = Duration.seconds(2)

  init(rescan: Duration, now: Instant) {
    // Without a minimum, a rescan would always be due with an interval of zero.
    self.rescan = max(rescan, .seconds(1))
    next = now
    nextFull = now
  }

  /// Requests a scan now.
  mutating func demand(_ now: Instant, isSpecial: Bool) {
    next = min(next, now)
    nextFull = min(nextFull, now)
    self.isSpecial = self.isSpecial || isSpecial
  }

  /// Begins a scan.
  ///
  /// - Returns: whether to retry failed files.
  mutating func begin(_ now: Instant) -> Bool {
    let isFull = now >= nextFull
    if isFull { nextFull = now + rescan }
    next = now + rescan
    isSpecial = false
    return isFull
  }

  /// Ends a scan that took this long.
  mutating func end(_ now: Instant, duration: Duration) {
    self.duration = duration
    next = min(next, now + interval)
  }

  /// The time between two scans: scanning takes at most a tenth of the time.
  var interval: Duration {
    isPolling ? min(rescan, max(Self.shortest, duration * 10)) : rescan
  }
}
