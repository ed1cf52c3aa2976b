package import PipelineModel

/// The list of originals that were deleted for good and are still to be removed.
///
/// The transactions that apply the manifest's facts maintain it: deleting the last asset with some
/// bytes adds them; a new asset, or a duplicate discarded because of them, removes them.
extension Catalog {
  /// Takes originals off the list, because they are removed or must stay.
  package func forgetDeletions(of digests: [Digest]) throws(CatalogError) {
    guard !digests.isEmpty else { return }
    try write { (writer) throws(CatalogError) in
      for digest in digests { try writer.keep(digest) }
    }
  }

  /// Whether the list is complete; false in a catalog from an older version.
  package var knowsDeletions: Bool {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        try connection.first(Setting.read, Setting.deletions) { _ in true } ?? false
      }
    }
  }

  /// Updates the list for facts of the manifest, in order, that an older version applied.
  ///
  /// - Parameter isLast: whether these facts complete the list.
  package func addDeletions(
    _ facts: [DeletionFact], isLast: Bool
  ) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      for fact in facts {
        switch fact {
        case .deleted(let original):
          if try writer.connection.assets(with: original.digest).isEmpty {
            try writer.note(original)
          }
        case .relied(let digest): try writer.keep(digest)
        }
      }
      if isLast { try writer.connection.execute(Setting.write, Setting.deletions, "1") }
    }
  }
}

/// The effect of a fact of the manifest on the deletion of bytes.
package enum DeletionFact: Hashable, Sendable {
  /// An asset with these bytes was deleted.
  case deleted(DeletedOriginal)
  /// An asset was made from these bytes, or a duplicate of them was discarded.
  case relied(on: Digest)
}

extension CatalogReader {
  /// Returns whether an original was deleted for good and waits for `gc`.
  package func isDeleted(_ digest: Digest) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT 1 FROM deletion WHERE digest = ?", digest) { _ in true }
        ?? false
    }
  }

  /// Returns deleted originals, in the order of their facts.
  package func deletions(
    after sequence: Int64, limit: Int
  ) throws(CatalogError) -> [DeletedOriginal] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT digest, asset, sequence FROM deletion WHERE sequence > ?
        ORDER BY sequence LIMIT ?
        """, sequence, limit
      ) { (row) throws(CatalogError) in
        DeletedOriginal(
          digest: try row.digest(0), asset: try row.assetID(1), sequence: row.int64(2))
      }
    }
  }
}

extension CatalogWriter {
  /// Adds an original to the list.
  func note(_ original: DeletedOriginal) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO deletion (digest, asset, sequence) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET asset = excluded.asset, sequence = excluded.sequence
      """, original.digest, original.asset, original.sequence)
  }

  /// Removes an original from the list.
  func keep(_ digest: Digest) throws(CatalogError) {
    try connection.execute("DELETE FROM deletion WHERE digest = ?", digest)
  }
}
