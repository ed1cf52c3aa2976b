package import PipelineModel
package import Records

extension Catalog {
  package func retry(assets: [AssetID]?) throws(CatalogError) -> Int {
    if let assets {
      return try write { (writer) throws(CatalogError) in try writer.retry(assets) }
    }
    var count = 0
    for fingerprint in try read({ (connection) throws(CatalogError) in
      try connection.all("SELECT DISTINCT fingerprint FROM stage WHERE active = 1") { $0.int64(0) }
    }) {
      // One page per transaction, because everything may have failed.
      var place: LedgerPosition? = LedgerPosition()
      while let last = place {
        let (next, retried) = try write { (writer) throws(CatalogError) in
          let next = try last.fillPage(ofFingerprint: fingerprint, writer.connection)
          try writer.connection.execute(
            """
            INSERT INTO temp.retried (ledger)
            SELECT ledger.id FROM temp.page CROSS JOIN ledger ON ledger.id = page.ledger
            WHERE \(CatalogWriter.hasFailed)
            """)
          return (next, try writer.retryRetried())
        }
        place = next
        count += retried
      }
    }
    return count
  }
}

extension CatalogWriter {
  /// Makes the failed jobs of assets ready again, in the caller's transaction.
  ///
  /// - Returns: the number of jobs.
  func retry(_ assets: [AssetID]) throws(CatalogError) -> Int {
    if assets.isEmpty { return 0 }
    for asset in assets {
      try connection.execute(
        """
        INSERT INTO temp.retried (ledger)
        SELECT ledger.id FROM job CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
          CROSS JOIN ledger ON ledger.id = job.ledger
        WHERE job.asset = ? AND \(Self.hasFailed)
        ON CONFLICT DO NOTHING
        """, asset)
    }
    return try retryRetried()
  }

  /// Whether a row of `ledger` failed, or waits for another attempt after a failure.
  fileprivate static let hasFailed = """
    (ledger.state = 'failed' OR ledger.state = 'ready' AND ledger.class IS NOT NULL)
    """

  /// Makes the rows of `temp.retried` ready again.
  fileprivate func retryRetried() throws(CatalogError) -> Int {
    try connection.execute(
      """
      INSERT INTO temp.touched (digest)
      SELECT DISTINCT ledger.digest FROM temp.retried CROSS JOIN ledger ON ledger.id = retried.ledger
      WHERE true ON CONFLICT DO NOTHING
      """)
    let count = try connection.changes(
      """
      UPDATE ledger SET state = 'waiting', not_before = 0, attempts = 0, interruptions = 0,
        class = NULL, reason = NULL, finished_at = NULL
      WHERE id IN (SELECT ledger FROM temp.retried)
      """)
    try connection.execute("DELETE FROM temp.retried")
    try updateTouchedRows(stages)
    return count
  }
}

/// A position among the rows of one fingerprint, in the order of the index for claims.
struct LedgerPosition {
  private var state = ""
  private var notBefore: Int64 = 0
  private var row: Int64 = 0

  init() {}

  private init(state: String, notBefore: Int64, row: Int64) {
    self.state = state
    self.notBefore = notBefore
    self.row = row
  }

  /// Fills `temp.page` with a page of rows after this position.
  ///
  /// - Returns: the position of the last one, or `nil` if there are none.
  func fillPage(
    ofFingerprint fingerprint: Int64, _ connection: Connection
  ) throws(CatalogError) -> LedgerPosition? {
    try connection.execute("DELETE FROM temp.page")
    try connection.execute(
      """
      INSERT INTO temp.page (ledger) SELECT id FROM ledger INDEXED BY ledger_claim
      WHERE fingerprint = ? AND (state, not_before, id) > (?, ?, ?)
      ORDER BY state, not_before, id LIMIT \(CatalogWriter.configurationPage)
      """, fingerprint, state, notBefore, row)
    return try connection.first(
      """
      SELECT state, not_before, id FROM temp.page CROSS JOIN ledger ON ledger.id = page.ledger
      ORDER BY state DESC, not_before DESC, id DESC LIMIT 1
      """
    ) { LedgerPosition(state: $0.text(0), notBefore: $0.int64(1), row: $0.int64(2)) }
  }
}
