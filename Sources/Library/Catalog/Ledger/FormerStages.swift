package import Records

/// Drops the jobs and results of stages that are no longer configured, one page of rows at a time.
///
/// Results shared with a configured stage stay. A stage that is configured again redoes its work.
package struct FormerStages {
  private let catalog: Catalog
  /// The fingerprints whose rows are still to be checked, the next one last.
  private var fingerprints: [Int64]
  private var place = LedgerPosition()

  /// Marks a stage of which nothing is left, so that its jobs are not searched again.
  private static let dropped = -1
  private static let isFormer = "active = 0 AND position <> \(dropped)"

  /// Finds the former stages; most libraries have none.
  package init(_ catalog: Catalog) throws(CatalogError) {
    self.catalog = catalog
    fingerprints = try catalog.read { (connection) throws(CatalogError) in
      // An unfinished change of stages may have left jobs at rows of another fingerprint than
      // their stage's, but never at rows of a fingerprint that was configured then.
      try connection.all(
        """
        SELECT id FROM fingerprint
        WHERE EXISTS (SELECT 1 FROM stage WHERE \(Self.isFormer))
          AND (id NOT IN (SELECT fingerprint FROM stage WHERE active = 1)
            OR id IN (SELECT fingerprint FROM stage WHERE \(Self.isFormer)))
        """
      ) { $0.int64(0) }
    }
  }

  /// Drops the next page in one transaction.
  ///
  /// - Returns: the number and bytes of dropped renditions, or `nil` after the last page.
  package mutating func dropNext() throws(CatalogError) -> (count: Int, bytes: Int)? {
    guard let fingerprint = fingerprints.last else { return nil }
    let place = place
    let (next, dropped) = try catalog.write {
      (writer) throws(CatalogError) -> (LedgerPosition?, (count: Int, bytes: Int)) in
      let next = try place.fillPage(ofFingerprint: fingerprint, writer.connection)
      return (next, try next == nil ? (0, 0) : writer.dropFormerJobs())
    }
    self.place = next ?? LedgerPosition()
    if next == nil { fingerprints.removeLast() }
    if fingerprints.isEmpty {
      try catalog.write { (writer) throws(CatalogError) in
        try writer.connection.execute(
          "UPDATE stage SET position = \(Self.dropped) WHERE \(Self.isFormer)")
      }
    }
    return dropped
  }

  /// The number and bytes of renditions that `dropNext` would drop in total.
  static func renditions(
    _ connection: Connection
  ) throws(CatalogError) -> (count: Int, bytes: Int) {
    try connection.first(
      """
      SELECT count(*), coalesce(sum(rendition.bytes), 0)
      FROM fingerprint CROSS JOIN ledger INDEXED BY ledger_claim
          ON ledger.fingerprint = fingerprint.id
        CROSS JOIN rendition ON rendition.ledger = ledger.id
      WHERE EXISTS (SELECT 1 FROM stage WHERE \(isFormer))
        AND fingerprint.id NOT IN (SELECT fingerprint FROM stage WHERE active = 1)
        AND NOT EXISTS (SELECT 1 FROM job JOIN stage ON stage.id = job.stage
          WHERE stage.active = 1 AND job.ledger = rendition.ledger)
        AND NOT EXISTS (SELECT 1 FROM job JOIN stage ON stage.id = job.stage
          WHERE stage.active = 1 AND job.previous_ledger = rendition.ledger)
      """
    ) { ($0.int(0), $0.int(1)) } ?? (0, 0)
  }
}

extension CatalogWriter {
  /// Deletes the jobs of former stages at the rows of `temp.page`, and the rows that lose their
  /// last job.
  fileprivate func dropFormerJobs() throws(CatalogError) -> (count: Int, bytes: Int) {
    try connection.execute(
      """
      INSERT INTO temp.doomed (ledger)
      SELECT ledger FROM temp.page
      UNION SELECT job.previous_ledger FROM temp.page CROSS JOIN job ON job.ledger = page.ledger
        CROSS JOIN stage ON stage.id = job.stage AND stage.active = 0
      WHERE job.previous_ledger IS NOT NULL
      """)
    try connection.execute(
      """
      DELETE FROM job WHERE ledger IN (SELECT ledger FROM temp.page)
        AND stage IN (SELECT id FROM stage WHERE active = 0)
      """)
    let renditions = try doomedRenditions()
    try discardDoomed()
    return renditions
  }
}
