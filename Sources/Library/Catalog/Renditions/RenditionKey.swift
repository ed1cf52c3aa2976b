package import PipelineModel
import Records

/// The name of a rendition in its database: for ever the same, as that of a rendition's file.
///
/// Not the key of its row in the catalog, which is unknown before the bytes are stored and is another after
/// a rebuild.
package struct RenditionKey: Hashable, Sendable {
  /// The bytes of the original's digest, or of the asset's key if the stage is asset-scoped.
  package var owner: [UInt8]
  package var fingerprint: Fingerprint
  package var name: String

  package init(owner: [UInt8], fingerprint: Fingerprint, name: String) {
    self.owner = owner
    self.fingerprint = fingerprint
    self.name = name
  }

  /// The columns that `Statement.renditionKey` reads, of a rendition, its row and that one's fingerprint.
  static let columns = "coalesce(ledger.asset, ledger.digest), fingerprint.value, rendition.name"
}

extension Statement {
  /// Reads the owner, fingerprint and name from a column and the next two.
  func renditionKey(_ column: Int) throws(CatalogError) -> RenditionKey {
    RenditionKey(
      owner: blob(column), fingerprint: Fingerprint(try digest(column + 1)), name: text(column + 2))
  }
}

extension Connection {
  /// Returns the key of a rendition that is not a file, or `nil`.
  func renditionKey(of rendition: Int64) throws(CatalogError) -> RenditionKey? {
    try first(
      """
      SELECT \(RenditionKey.columns)
      FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE rendition.id = ? AND rendition.path IS NULL
      """, rendition
    ) { (row) throws(CatalogError) in try row.renditionKey(0) }
  }

  /// Returns whether a rendition that is not a file has this key.
  func namesRendition(_ key: RenditionKey) throws(CatalogError) -> Bool {
    let row =
      key.owner.count == 16
      ? "ledger INDEXED BY ledger_asset WHERE ledger.asset = ?1"
      : """
      ledger INDEXED BY ledger_key WHERE ledger.digest = ?1 AND ifnull(ledger.asset, x'') = x''
      """
    return try hasRow(
      """
      SELECT 1 FROM \(row) AND ledger.fingerprint = (SELECT id FROM fingerprint WHERE value = ?2)
        AND EXISTS (SELECT 1 FROM rendition
          WHERE rendition.ledger = ledger.id AND rendition.name = ?3 AND rendition.path IS NULL)
      """, SQLValue.blob(key.owner), key.fingerprint, key.name)
  }
}
