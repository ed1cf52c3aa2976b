import Configuration
import PipelineModel

/// The files of a source that wait to be complete.
///
/// It does not access the file system: callers pass times and identities.
struct SettlingTable {
  typealias Instant = ContinuousClock.Instant

  struct Entry: Hashable, Sendable {
    /// The file's identity when its wait began.
    var identity: FileIdentity
    /// When to examine it.
    var due: Instant
    /// When it was first reported.
    var since: Instant
    /// The next wait if it is not complete then.
    var delay: Duration
    /// Whether it must be exactly what it was when its wait began.
    var mustBeQuiet: Bool
    /// The last thing that happened to it.
    var change: DirtyPaths.Change
    /// Whether it was already reported as settling for more than one window.
    var isTold = false
  }

  /// The most files that wait; a rescan finds the others.
  static let limit = DirtyPaths.limit
  /// The longest wait for a lasting writer, whose close is reported at once.
  static let longestDelay = Duration.seconds(60)
  /// The shortest wait, for windows of zero.
  private static let shortestDelay = Duration.milliseconds(100)

  private let completeness: Completeness
  /// The first wait of a file that was found to be incomplete.
  private let firstDelay: Duration
  private var entries: [BytePath: Entry] = [:]
  /// Paths found to be due, the next one last.
  private var ready: [BytePath] = []
  /// No file is due before this; `nil` if none waits.
  private(set) var nextDue: Instant?

  init(_ configuration: SourceConfiguration) {
    completeness = Completeness(configuration)
    firstDelay = max(completeness.window, Self.shortestDelay)
  }

  var count: Int { entries.count }

  var isFull: Bool { entries.count >= Self.limit }

  subscript(path: BytePath) -> Entry? { entries[path] }

  /// Makes a file wait as its last change requires.
  ///
  /// - Parameter age: the time since its ctime, by the clock of the file system.
  @discardableResult
  mutating func arm(
    _ path: BytePath, _ change: DirtyPaths.Change, _ identity: FileIdentity, age: Duration,
    now: Instant
  ) -> Entry {
    let waits = completeness.mustWait(after: change, age: age)
    let before = entries[path]
    let entry = Entry(
      identity: identity, due: waits ? now + completeness.window : now,
      since: before?.since ?? now, delay: firstDelay, mustBeQuiet: waits, change: change,
      isTold: before?.isTold ?? false)
    insert(path, entry)
    return entry
  }

  /// Makes an incomplete file wait again: one window if it changed, twice as long as before if a
  /// process merely keeps it open.
  ///
  /// - Parameter isTold: whether it was just reported as incomplete.
  mutating func rearm(
    _ path: BytePath, _ entry: Entry, _ identity: FileIdentity, isTold: Bool, now: Instant
  ) {
    var entry = entry
    let delay = identity == entry.identity ? entry.delay : firstDelay
    entry.identity = identity
    entry.due = now + delay
    entry.delay = min(delay * 2, Self.longestDelay)
    entry.mustBeQuiet = true
    entry.isTold = entry.isTold || isTold
    insert(path, entry)
  }

  /// Whether a file has waited longer than one window without being reported.
  func isLate(_ entry: Entry, now: Instant) -> Bool {
    !entry.isTold && now - entry.since > firstDelay
  }

  mutating func markTold(_ path: BytePath) { entries[path]?.isTold = true }

  mutating func remove(_ path: BytePath) { entries[path] = nil }

  mutating func removeAll() {
    entries = [:]
    ready = []
    nextDue = nil
  }

  /// Removes and returns a file whose wait is over.
  mutating func popDue(now: Instant) -> (path: BytePath, entry: Entry)? {
    if ready.isEmpty { collectDue(now) }
    while let path = ready.popLast() {
      // It may have changed again since.
      guard let entry = entries[path], entry.due <= now else { continue }
      entries[path] = nil
      return (path, entry)
    }
    return nil
  }

  var hasReady: Bool { !ready.isEmpty }

  private mutating func collectDue(_ now: Instant) {
    guard let nextDue, nextDue <= now else { return }
    var next: Instant?
    for (path, entry) in entries {
      if entry.due <= now {
        ready.append(path)
      } else if next.map({ entry.due < $0 }) ?? true {
        next = entry.due
      }
    }
    self.nextDue = next
    // The last path is the next one: folders are handled in order.
    ready.sort { $1 < $0 }
  }

  private mutating func insert(_ path: BytePath, _ entry: Entry) {
    entries[path] = entry
    nextDue = min(nextDue ?? entry.due, entry.due)
  }
}
