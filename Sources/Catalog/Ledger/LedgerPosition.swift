/// A position among the rows of one fingerprint, in the order of the index for claims.
struct LedgerPosition {
  private var state = ""
  private var notBefore: Int64 = 0
  private var row: Int64 = 0

  /// Creates the position before all rows.
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
