import PipelineModel

/// When a source is looked through from end to end.
struct RescanSchedule {
  typealias Instant = ContinuousClock.Instant

  /// How often, whatever the kernel says.
  let rescan: Duration
  /// Whether looking through is the only way to hear of changes.
  var isPolling = false {
    didSet { if !isPolling { duration = .zero } }
  }
  private(set) var next: Instant
  /// Whether the next one has a reason other than that it is time.
  private(set) var isSpecial = false
  /// How long the last one took.
  private var duration = Duration.zero
  /// When failed files are to be tried again.
  private var nextFull: Instant

  private static let shortest = Duration.seconds(2)

  init(rescan: Duration, now: Instant) {
    // Without a bound a rescan of nothing would be due all the time.
    self.rescan = max(rescan, .seconds(1))
    next = now
    nextFull = now
  }

  /// Asks for one now.
  mutating func demand(_ now: Instant, isSpecial: Bool) {
    next = min(next, now)
    nextFull = min(nextFull, now)
    self.isSpecial = self.isSpecial || isSpecial
  }

  /// Begins one.
  ///
  /// - Returns: whether failed files are tried again.
  mutating func begin(_ now: Instant) -> Bool {
    let isFull = now >= nextFull
    if isFull { nextFull = now + rescan }
    next = now + rescan
    isSpecial = false
    return isFull
  }

  /// Ends one, after so much time that was spent on it.
  mutating func end(_ now: Instant, duration: Duration) {
    self.duration = duration
    next = min(next, now + interval)
  }

  /// The time between two: at most a tenth is spent looking.
  var interval: Duration {
    isPolling ? min(rescan, max(Self.shortest, duration * 10)) : rescan
  }
}
