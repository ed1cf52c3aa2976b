/// What was counted last, for as long as it may be shown.
///
/// Counting takes a moment in an idle library, however large it is, and seconds while a million jobs wait. So
/// what was counted is shown until something changes and, where counting takes longer, somewhat beyond.
struct KeptCounts<Counts: Sendable, Version: Equatable & Sendable>: Sendable {
  private struct Entry {
    var counts: Counts
    /// What the library was before it was counted.
    var version: Version
    var begun: ContinuousClock.Instant
    var taken: Duration
  }

  private var entry: Entry?
  /// When somebody asked last.
  private var asked: ContinuousClock.Instant?

  /// Counting that takes no longer than this is done for each request after a change.
  static var short: Duration { .milliseconds(20) }
  /// Counts that are no longer true are shown up to this age, or longer if counting takes long.
  static var oldest: Duration { .seconds(60) }
  /// Of the time, counting takes at most this part while nobody waits for it: one of so many.
  static var share: Int { 5 }
  /// For how long after a request others are expected.
  static var interest: Duration { .seconds(150) }

  /// The counts to show, and how old they are if something changed since, else zero; `nil` if the library has
  /// to be counted first.
  mutating func shown(
    at version: Version, now: ContinuousClock.Instant
  ) -> (counts: Counts, age: Duration)? {
    asked = now
    guard let entry else { return nil }
    if entry.version == version { return (entry.counts, .zero) }
    let age = now - entry.begun
    let oldest = max(Self.oldest, entry.taken * (2 * Self.share))
    return entry.taken > Self.short && age <= oldest ? (entry.counts, age) : nil
  }

  /// Whether the library should be counted before somebody asks.
  func isDue(at version: Version, now: ContinuousClock.Instant) -> Bool {
    guard let entry, let asked, entry.version != version, entry.taken > Self.short else {
      return false
    }
    return now - asked <= Self.interest && now - entry.begun >= entry.taken * Self.share
  }

  /// - Parameters:
  ///   - version: of the library, read before it was counted.
  ///   - begun: when counting began; it has just ended.
  mutating func keep(
    _ counts: Counts, of version: Version, begun: ContinuousClock.Instant,
    now: ContinuousClock.Instant
  ) {
    entry = Entry(counts: counts, version: version, begun: begun, taken: now - begun)
  }
}
