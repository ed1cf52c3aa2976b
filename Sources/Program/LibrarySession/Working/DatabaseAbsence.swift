import Engine
import Records

/// How long to wait for a database that a session beside others has lost.
struct DatabaseAbsence {
  private var pause = Duration.zero
  private var beganAt: ContinuousClock.Instant?

  /// Whether an error says that the database can't be reached, or has lost what this process knows.
  static func isCause(of error: any Error) -> Bool {
    let cause =
      (error as? EngineError)?.cause.flatMap { $0 as? CatalogError } ?? error as? CatalogError
    return cause?.code == .unreachable || cause?.code == .locked
  }

  /// Notes that the database is lost.
  ///
  /// - Returns: whether that is news: a new try soon after the last one is none.
  mutating func begin() -> Bool {
    let now = ContinuousClock.now
    let isNews = beganAt.map { now - $0 > .seconds(60) } ?? true
    if isNews { pause = .zero }
    beganAt = now
    return isNews
  }

  /// When to try again: later each time.
  mutating func nextTry() -> ContinuousClock.Instant {
    pause = min(max(pause * 2, .seconds(1)), .seconds(30))
    return .now + pause
  }
}
