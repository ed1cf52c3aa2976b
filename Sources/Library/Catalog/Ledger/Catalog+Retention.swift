package import PipelineModel
package import Records

extension Catalog {
  /// How many attempts one transaction looks at.
  private static let slice = 5_000

  /// Forgets attempts that ended long ago, but for the last of each row, one slice at a time.
  ///
  /// - Parameters:
  ///   - time: forget those that ended before.
  ///   - start: where the slice begins: 0, and then what the call before returned.
  /// - Returns: where the next slice begins; `nil` if there is none.
  package func forgetAttempts(
    before time: Timestamp, after start: Int64
  ) throws(CatalogError) -> Int64? {
    try write { (writer) throws(CatalogError) in
      let connection = writer.connection
      let end = try connection.first(
        "SELECT id FROM attempt WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?", start, Self.slice - 1
      ) { $0.int64(0) }
      try connection.execute(
        """
        DELETE FROM attempt WHERE id > ? AND id <= ? AND ended_at < ?
          AND EXISTS (SELECT 1 FROM attempt AS later
            WHERE later.ledger = attempt.ledger AND later.id > attempt.id)
        """, start, end ?? .max, time)
      return end
    }
  }
}
