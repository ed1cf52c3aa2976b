import PipelineModel
import Records

/// Changing a catalog together with other processes.
///
/// Transactions take turns, but for those that claim jobs (`TransactionKind`), so each statement finds what one writer
/// alone would find. What this process keeps in memory is compared at the start of each.
extension CatalogWriter {
  /// Learns what others changed since this process looked last; at the start of a transaction.
  func enter() throws(CatalogError) {
    endedNow = []
    overtakenNow = []
    droppedNow = 0
    guard let participation, let driver = connection.postgreSQL else { return }
    try driver.requireOwnHistory()
    let words = driver.entry.split(separator: " ").map(String.init)
    if words.first == "-" { throw .unfinished(connection.path) }
    guard words.count == 3, Int(words[0]) == PostgreSQLSchema.version else {
      throw CatalogError(
        .newerVersion,
        "The catalog “\(connection.path)” was updated by another version of the program. Use that one.",
        path: connection.path)
    }
    if words[1] != generation {
      stages = try ConfiguredStage.all(connection)
      parts = try RenditionParts.read(connection)
      groupPolicy = try GroupPolicy.read(connection)
      if !ownDefinitions.isEmpty { try refuseStages() }
      generation = words[1]
    }
    participation.writerBackend = driver.backend
    participation.isDraining = words[2] == "draining"
    isExpired = words[2] != "active" && words[2] != "draining"
    if isExpired {
      throw CatalogError(
        .locked, "Other processes of the catalog “\(connection.path)” took this one for gone.",
        path: connection.path)
    }
  }

  /// Joins anew if the last transaction found that others took this process for gone; outside of one, so that nobody waits
  /// for that.
  ///
  /// - Returns: whether it did.
  func joinAnew() throws(CatalogError) -> Bool {
    guard isExpired, let participation else { return false }
    isExpired = false
    // It may be gone because a backup is being put back.
    try connection.postgreSQL.map(PostgreSQLSchema.requireWhole)
    try participation.join()
    connection.postgreSQL?.participant = participation.id
    generation = ""
    return true
  }

  /// Has all processes read stages and groups again.
  func renewGeneration() throws(CatalogError) {
    guard participation != nil else { return }
    try connection.execute(
      Setting.write, Setting.generation, String(UInt64.random(in: 1 ... .max), radix: 36))
  }

  /// Passes over an attempt of this process that is not open, because another has ended it, or it went with its asset.
  ///
  /// - Parameter outcome: what it would have recorded.
  /// - Throws: `.staleToken` if this process has ended it, or never had it.
  func passOverOvertaken(
    _ token: AttemptToken, _ outcome: Completion.Outcome?
  ) throws(CatalogError) {
    guard claimed.contains(token), !endedNow.contains(token) else { throw stale(token) }
    overtakenNow.insert(token)
    guard let outcome else { return }
    if try connection.hasRow("SELECT 1 FROM attempt WHERE id = ?", token.rawValue) {
      droppedNow += 1
    }
    guard case .done(_, let renditions) = outcome else { return }
    for rendition in renditions {
      guard case .file(let path) = rendition.content else { continue }
      // The file may have replaced one of whoever did the job instead.
      let replaced = try connection.all("SELECT id FROM rendition WHERE path = ?", path) {
        $0.int64(0)
      }
      for id in replaced { try invalidate(rendition: id) }
    }
  }

  /// Refuses attempts whose numbers this process knows as those of jobs that it does: a server that has lost its last
  /// commits, or a catalog that was made anew, gives numbers once more.
  ///
  /// - Throws: `.locked`, so that nothing goes on that knows them.
  func requireNew(_ tokens: [AttemptToken]) throws(CatalogError) {
    guard !claimed.isDisjoint(with: tokens) else { return }
    throw CatalogError(
      .locked,
      "The catalog “\(connection.path)” gives numbers of attempts once more: its server has lost changes, as after a "
        + "failover, or it was made anew.", path: connection.path)
  }

  /// Counts jobs that this process has ended.
  func countEnded(_ jobs: Int) throws(CatalogError) {
    guard let participation, jobs > 0 else { return }
    try connection.execute(
      "UPDATE participant SET jobs = jobs + ? WHERE id = ?", jobs, participation.id)
  }

  /// SQL for whether an open attempt, a row of `attempt` under some name, was left by a process that is gone.
  func isInterrupted(_ row: String) -> String {
    participation == nil ? "\(row).id < \(firstAttempt)" : Participation.isOrphan(row)
  }
}
