import Configuration
import PipelineModel

/// The files of a source that wait to be complete.
///
/// It knows nothing of the file system: moments and identities are given to it.
struct SettlingTable {
  typealias Instant = ContinuousClock.Instant

  /// A file that waits.
  struct Entry: Hashable, Sendable {
    /// The file as it was when its wait began.
    var identity: FileIdentity
    /// When it is looked at.
    var due: Instant
    /// When it was first heard of.
    var since: Instant
    /// The wait that comes if it is not complete then.
    var delay: Duration
    /// Whether it must be exactly what it was when its wait began.
    var mustBeQuiet: Bool
    /// The last thing that happened to it.
    var change: DirtyPaths.Change
    /// Whether it was told already that it takes longer than one window.
    var isTold = false
  }

  /// More files than this don't wait; a rescan finds the others.
  static let limit = DirtyPaths.limit
  /// The longest wait for a writer who stays; its close is heard of at once.
  static let longestDelay = Duration.seconds(60)
  /// The shortest, for windows of nothing.
  private static let shortestDelay = Duration.milliseconds(100)

  private let settle: Duration
  private let completion: SourceConfiguration.Completion
  private var entries: [BytePath: Entry] = [:]
  /// Paths that were found to be due, the next one last.
  private var ready: [BytePath] = []
  /// No file is due before this moment; `nil` if none waits.
  private(set) var nextDue: Instant?

  init(_ configuration: SourceConfiguration) {
    settle = configuration.settle.duration
    completion = configuration.complete
  }

  var count: Int { entries.count }

  var isFull: Bool { entries.count >= Self.limit }

  subscript(path: BytePath) -> Entry? { entries[path] }

  /// Lets a file wait as long as what happened to it asks for.
  ///
  /// - Parameters:
  ///   - age: how long ago its status changed, by the clock of the file system.
  /// - Returns: the entry.
  @discardableResult
  mutating func arm(
    _ path: BytePath, _ change: DirtyPaths.Change, _ identity: FileIdentity, age: Duration,
    now: Instant
  ) -> Entry {
    let waits: Bool =
      switch change {
      case .movedIn: false
      case .closed: completion == .quiet
      case .created, .attributes: true
      // Nobody saw how it came there, so only its age can speak for it.
      case .listed: age < settle
      }
    let before = entries[path]
    let entry = Entry(
      identity: identity, due: waits ? now + settle : now, since: before?.since ?? now,
      delay: max(settle, Self.shortestDelay), mustBeQuiet: waits, change: change,
      isTold: before?.isTold ?? false)
    insert(path, entry)
    return entry
  }

  /// Lets a file wait once more that was not complete: one window if it changed,
  /// twice as long as before if somebody just keeps it open.
  ///
  /// - Parameter isTold: whether that it is not complete was told just now.
  mutating func rearm(
    _ path: BytePath, _ entry: Entry, _ identity: FileIdentity, isTold: Bool, now: Instant
  ) {
    var entry = entry
    let base = max(settle, Self.shortestDelay)
    let delay = identity == entry.identity ? entry.delay : base
    entry.identity = identity
    entry.due = now + delay
    entry.delay = min(delay * 2, Self.longestDelay)
    entry.mustBeQuiet = true
    entry.isTold = entry.isTold || isTold
    insert(path, entry)
  }

  /// Whether a file has waited for longer than one window, and nobody was told.
  func isLate(_ entry: Entry, now: Instant) -> Bool {
    !entry.isTold && now - entry.since > max(settle, Self.shortestDelay)
  }

  /// Notes that it was told.
  mutating func markTold(_ path: BytePath) { entries[path]?.isTold = true }

  mutating func remove(_ path: BytePath) { entries[path] = nil }

  mutating func removeAll() {
    entries = [:]
    ready = []
    nextDue = nil
  }

  /// Takes out a file whose wait is over.
  mutating func popDue(now: Instant) -> (path: BytePath, entry: Entry)? {
    if ready.isEmpty { collectDue(now) }
    while let path = ready.popLast() {
      // It may have been heard of again since.
      guard let entry = entries[path], entry.due <= now else { continue }
      entries[path] = nil
      return (path, entry)
    }
    return nil
  }

  /// Whether files that were due are left.
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
    // The last one is the next one: folders are served in order.
    ready.sort { $1 < $0 }
  }

  private mutating func insert(_ path: BytePath, _ entry: Entry) {
    entries[path] = entry
    nextDue = min(nextDue ?? entry.due, entry.due)
  }
}
