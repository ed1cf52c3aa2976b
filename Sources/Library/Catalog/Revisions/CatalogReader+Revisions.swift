package import PipelineModel
package import Records

extension CatalogReader {
  /// The revision after the last change.
  package var revision: Revision {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in try connection.revision() }
    }
  }

  /// Returns the next assets that changed since a revision, each once.
  ///
  /// An asset that changes between two pages moves to the end.
  ///
  /// - Throws: `.unknownRevision` if it is of another history, or too old.
  package func changes(
    since revision: Revision, limit: Int = pageSize
  ) throws(CatalogError) -> RevisionPage {
    try read { (connection) throws(CatalogError) in
      let current = try connection.revision()
      guard revision.number <= current.number,
        try connection.epoch(of: revision.number) == revision.epoch
      else { throw .unknown(revision, path) }
      let rows = try connection.all(
        """
        SELECT number, asset, removed FROM revision WHERE number > ? ORDER BY number LIMIT ?
        """, revision.number, limit
      ) { (row) throws(CatalogError) in
        (number: row.int64(0), id: try row.assetID(1), isDeleted: row.bool(2))
      }
      var page = RevisionPage(
        assets: rows.map { ($0.id, $0.isDeleted) }, revision: current, isLast: true)
      if rows.count == limit, let last = rows.last?.number, last < current.number,
        let epoch = try connection.epoch(of: last)
      {
        page.revision = Revision(epoch: epoch, number: last)
        page.isLast = false
      }
      return page
    }
  }
}

extension Connection {
  fileprivate func revision() throws(CatalogError) -> Revision {
    let number =
      try first(
        text(sqlite: RevisionNumber.lastInSQLite, postgreSQL: RevisionNumber.lastInPostgreSQL)
      ) { $0.int64(0) } ?? 0
    guard let epoch = try epoch(of: number) else {
      throw CatalogError(
        .corrupt, "The catalog “\(path)” has no revisions. \(CatalogError.advice)", path: path)
    }
    return Revision(epoch: epoch, number: number)
  }

  /// The epoch that a number belongs to, if it is still known.
  fileprivate func epoch(of number: Int64) throws(CatalogError) -> String? {
    try first("SELECT id FROM epoch WHERE first <= ? ORDER BY first DESC LIMIT 1", number) {
      $0.text(0)
    }
  }
}

/// SQL for the number of the last change, also if its row was deleted since.
enum RevisionNumber {
  static let lastInSQLite = "SELECT seq FROM sqlite_sequence WHERE name = 'revision'"
  /// Not that of the sequence, which tells of transactions that are not committed. An epoch begins behind the
  /// last number.
  static let lastInPostgreSQL = """
    SELECT greatest((SELECT max(number) FROM revision), (SELECT max(first) - 1 FROM epoch), 0)
    """
}

extension CatalogError {
  fileprivate static func unknown(_ revision: Revision, _ path: BytePath) -> CatalogError {
    CatalogError(
      .unknownRevision,
      "The catalog “\(path)” does not know the revision \(revision): since then it was made anew or "
        + "restored from a copy, or more than 30 days passed. List everything again.", path: path)
  }
}
