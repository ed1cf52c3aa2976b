import Records

/// The marks of a connection's commits: random texts that the last statement of each writes.
///
/// They tell what became of a commit whose answer was lost, and whether the catalog is still the one that this process left.
struct CommitMarks {
  /// That of the last commit; `nil` before it is known.
  var last: String?
  /// That of a commit whose answer was lost.
  var pending: String?
  /// That which the last writing transaction found at its begin; `nil` if there was none.
  var found: String?

  static func random() -> String { String(UInt64.random(in: 1 ... .max), radix: 36) }

  /// Whether a mark in the catalog is that of the last commit.
  func isOwn(_ mark: String?, of role: PostgreSQLDriver.Role) -> Bool {
    // A participant whose row is gone joins anew.
    last == nil || mark == last || role == .working && mark == nil
  }
}

extension PostgreSQLDriver {
  /// The row that has the mark: those who take turns at the lock share one, all others have their own.
  var markPlace: (table: String, row: String) {
    role == .writing ? ("last_commit", "TRUE") : ("participant", "id = \(participant ?? 0)")
  }

  /// Notes the mark of the last commit, by this process or before it.
  ///
  /// - Throws: `.locked` after a loss, if another process that had the lock has changed the catalog meanwhile, or if the
  ///   server has lost commits of this one. What others changed that work beside is compared at the start of each
  ///   transaction.
  func noteLastMark() throws(CatalogError) {
    // Those with the lock have waited for it.
    if role == .working { try awaitFormerTurn() }
    let (table, row) = markPlace
    // A catalog that was being made may not be there.
    let isThere = try first("SELECT to_regclass('\(table)') IS NOT NULL") { $0.int64(0) } == 1
    let found =
      try isThere ? first("SELECT mark FROM \(table) WHERE \(row)") { $0.text(0) } : nil
    guard marks.isOwn(found, of: role) || found == marks.pending else { throw otherHistory() }
    (marks.last, marks.pending) = (found, nil)
  }

  /// Refuses a catalog that is not as this process left it, at the begin of a transaction: a backup may have been put in its
  /// place without a connection being lost.
  ///
  /// - Throws: `.locked`.
  func requireOwnHistory() throws(CatalogError) {
    guard marks.isOwn(marks.found, of: role) else { throw otherHistory() }
  }

  private func otherHistory() -> CatalogError {
    CatalogError(
      .locked,
      "The catalog “\(address)” is not as this process left it: another process has changed it, or its server has lost "
        + "the last changes, as after a failover, or where an older backup was put back. What is missing is replayed when it "
        + "is opened next.")
  }
}
