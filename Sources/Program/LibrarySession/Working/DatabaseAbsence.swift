import Engine
import Records

/// The time in which a process beside others can't reach the database.
struct DatabaseAbsence {
  private var pause = Duration.zero
  /// Why its server refuses this process, as last told.
  private var refusal: String?

  /// What a database has to do with an error.
  static func cause(of error: any Error) -> CatalogError? {
    (error as? EngineError)?.cause.flatMap(cause) ?? error as? CatalogError
  }

  /// Whether an error says that the database can't be reached.
  static func isAway(_ error: any Error) -> Bool { cause(of: error)?.code == .unreachable }

  /// Whether an error says that the database has lost what this process knows.
  static func isOvertaken(_ error: any Error) -> Bool { cause(of: error)?.code == .locked }

  /// Whether to tell why it can't be reached: at first, and if the server refuses this process for another reason.
  mutating func isNews(_ error: CatalogError?) -> Bool {
    let isFirst = pause == .zero
    guard let error, error.isRefusal, error.message != refusal else { return isFirst }
    refusal = error.message
    return true
  }

  /// How long to wait before the next try, longer each time.
  mutating func nextPause() -> Duration {
    pause = min(max(pause * 2, .seconds(1)), .seconds(30))
    return pause
  }
}
