package import PipelineModel
package import Records

/// Queries for comparing the catalog with manifest and disk in parts.
///
/// Those that call a body for each row read page by page, as `assets` does. So a row that other
/// programs add or delete meanwhile may be given or not: ask again before relying on its absence.
extension CatalogReader {
  /// Rows of keys are short: a page takes some 100 KiB.
  static let keysPageSize = 2048

  /// Calls a body for each digest of an original that begins with a byte, in the order of digests.
  ///
  /// - Throws: errors of the body, or a `CatalogError`.
  package func originals(beginningWith byte: UInt8, _ body: (Digest) throws -> Void) throws {
    // Shorter than any digest, so less than all that begin with the byte.
    var last = [byte]
    // Longer than any digest, so greater than all that begin with the greatest byte.
    let end = byte < .max ? [byte + 1] : [UInt8](repeating: .max, count: 33)
    while true {
      let page = try read { (connection) throws(CatalogError) in
        try connection.all(
          """
          SELECT digest FROM original WHERE digest > ? AND digest < ?
          ORDER BY digest LIMIT \(Self.keysPageSize)
          """, SQLValue.blob(last), SQLValue.blob(end)
        ) { (row) throws(CatalogError) in try row.digest(0) }
      }
      for digest in page { try body(digest) }
      guard page.count == Self.keysPageSize, let lastRead = page.last else { return }
      last = lastRead.bytes
    }
  }

  /// Calls a body with the key and digest of each asset, in the order of digests.
  ///
  /// These are the assets at the returned position, but for those that facts after it create or
  /// delete: such a fact may have been applied before an asset's page was read, or after.
  ///
  /// - Returns: the manifest position before the first page.
  /// - Throws: errors of the body, or a `CatalogError`.
  package func assetDigests(_ body: (AssetID, Digest) throws -> Void) throws -> Int64 {
    let (position, newest) = try read { (connection) throws(CatalogError) in
      (try connection.manifestPosition(), try connection.newestAssetID())
    }
    guard let newest else { return position }
    var last: (digest: [UInt8], id: [UInt8]) = ([], [])
    while true {
      // Digests are spread, so what an import adds could come in any page. New keys sort after the
      // newest, so it is left out. The index of digests has both columns, and is small.
      let page = try read { (connection) throws(CatalogError) in
        try connection.all(
          """
          SELECT id, digest FROM asset WHERE (digest, id) > (?, ?) AND id <= ?
          ORDER BY digest, id LIMIT \(Self.keysPageSize)
          """, SQLValue.blob(last.digest), SQLValue.blob(last.id), newest
        ) { (row) throws(CatalogError) in (try row.assetID(0), try row.digest(1)) }
      }
      for (id, digest) in page { try body(id, digest) }
      guard page.count == Self.keysPageSize, let (id, digest) = page.last else { return position }
      last = (digest.bytes, id.bytes)
    }
  }

  /// Calls a body with the path below the library of each recorded file in a folder, in the order of
  /// paths: renditions, and discarded files that the next completed batch of jobs removes.
  ///
  /// Omits no file that is recorded throughout, even if it changes between the two; one that is both
  /// may be given twice.
  ///
  /// - Parameter folder: its path below the library.
  /// - Throws: errors of the body, or a `CatalogError`.
  package func renditionFiles(below folder: String, _ body: (String) throws -> Void) throws {
    // “0” is the character after the slash.
    let end = "\(folder)0"
    var last = "\(folder)/"
    while true {
      // Both tables in one order: after one another, a file could move to the one read before.
      let page = try read { (connection) throws(CatalogError) in
        try connection.all(
          """
          SELECT path FROM rendition WHERE path > ?1 AND path < ?2
          UNION ALL SELECT path FROM discarded_file WHERE path > ?1 AND path < ?2
          ORDER BY path LIMIT \(Self.keysPageSize)
          """, last, end
        ) { $0.text(0) }
      }
      for path in page { try body(path) }
      guard page.count == Self.keysPageSize, let lastRead = page.last else { return }
      last = lastRead
    }
  }

  /// Whether any rendition, or file that is to be removed, is below a folder or an object's prefix.
  package func hasRenditionFiles(below folder: String) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM rendition WHERE path > ?1 AND path < ?2
        UNION ALL SELECT 1 FROM discarded_file WHERE path > ?1 AND path < ?2 LIMIT 1
        """, "\(folder)/", "\(folder)0"
      )
    }
  }

  /// Returns the text that a process stored under a key, or `nil`.
  package func setting(_ key: String) throws(CatalogError) -> String? {
    try read { (connection) throws(CatalogError) in
      try connection.first(Setting.read, "user." + key) { $0.text(0) }
    }
  }

  /// Returns whether `renditionFiles` includes a path.
  package func namesRenditionFile(_ path: String) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM rendition WHERE path = ?1
        UNION ALL SELECT 1 FROM discarded_file WHERE path = ?1 LIMIT 1
        """, path
      )
    }
  }

  /// Returns whether a job that makes renditions of an owner is running or due.
  ///
  /// - Parameters:
  ///   - owner: the bytes of a digest or of an asset's key, as in `RenditionLayout`.
  ///   - fingerprint: the first bytes of the stage's fingerprint.
  package func isRenditionDue(owner: [UInt8], fingerprint: [UInt8]) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      let column = owner.count == 16 ? "asset" : "digest"
      return try connection.hasRow(
        """
        SELECT 1 FROM ledger JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        WHERE ledger.\(column) = ? AND ledger.state IN ('waiting', 'ready', 'running')
          AND substr(fingerprint.value, 1, ?) = ? LIMIT 1
        """, SQLValue.blob(owner), fingerprint.count, SQLValue.blob(fingerprint)
      )
    }
  }
}
