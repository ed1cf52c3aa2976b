import Engine
import Records

/// The time in which a process can't reach its database, or can't change it.
struct DatabaseAbsence {
  private var pause = Duration.zero
  /// What was told of it.
  private var told: Set<String> = []

  /// What a database has to do with an error.
  static func cause(of error: any Error) -> CatalogError? {
    (error as? EngineError)?.cause.flatMap(cause) ?? error as? CatalogError
  }

  /// Whether an error says that the database can't be reached, or can't be changed for now.
  ///
  /// - Parameter hasBegun: whether this process could change it before; whoever begins has to see what is wrong with it.
  static func isAway(_ error: any Error, hasBegun: Bool) -> Bool {
    cause(of: error).map { $0.code == .unreachable || hasBegun && $0.mayPass } ?? false
  }

  /// Whether an error says that the database has lost what this process knows.
  static func isOvertaken(_ error: any Error) -> Bool { cause(of: error)?.code == .locked }

  /// Whether to tell of an error: once for each cause, where numbers in its words are none, and once while the server can't be
  /// reached, whatever the network says of that.
  mutating func isNews(_ error: CatalogError?) -> Bool {
    guard let error else { return pause == .zero }
    let isAway = error.code == .unreachable && !error.isRefusal
    return told.insert(isAway ? "away" : error.message.filter { !$0.isNumber }).inserted
  }

  /// Forgets it after a session that went on for a while: one that ends at once by the same error has not had its database
  /// back.
  mutating func end(ofSessionSince start: ContinuousClock.Instant) {
    if ContinuousClock.now - start > .seconds(60) { self = DatabaseAbsence() }
  }

  /// How long to wait before the next try, longer each time.
  mutating func nextPause() -> Duration {
    pause = min(max(pause * 2, .seconds(1)), .seconds(30))
    return pause
  }
}
