package import PipelineModel
package import Records

/// The end of the manifest in a database: the lines that its copies in the bucket may lack.
///
/// They are recorded in the transaction that applies their facts. So with the copies there is a line for each fact that the
/// catalog has, also if the machine with the manifest is lost; unless very many were never copied.
extension Catalog {
  /// The facts whose lines are kept, from the first to the last one; `nil` if there are none.
  package var manifestTail: ClosedRange<Int64>? {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        // The table has no row that ends before it begins.
        try connection.first(
          "SELECT min(first), max(last) FROM manifest_tail HAVING count(*) > 0"
        ) { $0.int64(0)...$0.int64(1) }
      }
    }
  }

  /// Keeps the lines after a fact with all later changes.
  ///
  /// - Parameter lines: returns lines after a fact, some at a time, and `nil` if there are none.
  package func followManifest(
    after fact: Int64,
    _ lines: @escaping @Sendable (Int64) throws(CatalogError) -> ManifestLines?
  ) throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      writer.manifestTail = ManifestTail(last: fact, lines: lines)
    }
  }

  /// Forgets the lines up to a fact, because they are copied; `nil` for all.
  package func forgetManifestTail(upTo fact: Int64?) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute("DELETE FROM manifest_tail WHERE last <= ?", fact ?? .max)
    }
  }
}

/// What a catalog follows of a manifest.
struct ManifestTail {
  /// The last fact whose line the catalog has, or need not have.
  var last: Int64
  let lines: @Sendable (Int64) throws(CatalogError) -> ManifestLines?
}

extension CatalogWriter {
  /// Keeps the lines that the manifest has got, in the caller's transaction.
  ///
  /// - Returns: the last fact that is kept then.
  func keepNewLines() throws(CatalogError) -> Int64? {
    guard let manifestTail else { return nil }
    var last = manifestTail.last
    while let lines = try manifestTail.lines(last) {
      // What an earlier transaction has kept whose answer was lost is kept once more, perhaps cut otherwise.
      try connection.execute(
        """
        INSERT INTO manifest_tail (first, last, lines) VALUES (?, ?, ?)
        ON CONFLICT (first) DO UPDATE SET last = excluded.last, lines = excluded.lines
        """, lines.first, lines.last, SQLValue.blob(lines.bytes))
      last = lines.last
    }
    return last
  }
}

/// Reads the end of a manifest that a database has.
package final class ManifestTailReader {
  private let connection: Connection
  /// The last fact that the catalog has applied.
  package let position: Int64
  /// Whether it has never known one.
  private let isNew: Bool
  package let hasAssets: Bool
  /// The first fact of the lines that were returned last.
  private var lastFirst: Int64 = 0

  /// - Parameter libraryID: the library whose catalog it must be.
  /// - Returns: `nil` if there is no catalog, or an older version made it, which had no such lines.
  /// - Throws: `.unreachable`; `.corrupt`, also if it is another library's; `.newerVersion`.
  package init?(_ address: DatabaseLocation, libraryID: String) throws(CatalogError) {
    let place = CatalogPlace.database(address)
    connection = Connection(try PostgreSQLDriver(address, role: .reading), place)
    guard let version = try PostgreSQLSchema.version(in: connection) else { return nil }
    try Catalog.requireOwner(of: connection, libraryID: libraryID)
    guard version >= PostgreSQLSchema.manifestTailVersion else { return nil }
    position = try connection.manifestPosition()
    let mark = try connection.first(Setting.read, "user." + Catalog.manifestMark) { $0.text(0) }
    isNew = position == 0 && mark == nil
    hasAssets = try connection.newestAssetID() != nil
  }

  /// Whether there are all lines from the first fact on.
  package var isWhole: Bool {
    get throws(CatalogError) {
      let first = try connection.first(
        "SELECT min(first) FROM manifest_tail HAVING count(*) > 0"
      ) { $0.int64(0) }
      return first.map { $0 == 1 } ?? isNew
    }
  }

  /// Returns the next lines of which one is after a fact; `nil` if there are none.
  package func next(after fact: Int64) throws(CatalogError) -> ManifestLines? {
    let lines = try connection.first(
      """
      SELECT first, last, lines FROM manifest_tail
      WHERE first > ? AND last > ? ORDER BY first LIMIT 1
      """, lastFirst, fact
    ) { ManifestLines(first: $0.int64(0), last: $0.int64(1), bytes: $0.blob(2)) }
    if let lines { lastFirst = lines.first }
    return lines
  }
}
