package import PipelineModel

/// The list of originals that were deleted for good and are still to be removed.
///
/// It is kept in the transactions that apply the facts of the manifest: the deletion of the last
/// asset of some bytes puts them on it, a new asset or a file that was let go for their sake takes
/// them off.
extension Catalog {
  /// Takes originals off the list: they are removed, or not to be removed.
  package func forgetDeletions(of digests: [Digest]) throws(CatalogError) {
    guard !digests.isEmpty else { return }
    try write { (writer) throws(CatalogError) in
      for digest in digests { try writer.keep(digest) }
    }
  }

  /// Whether the list is complete; not where an older version has kept the catalog.
  package var knowsDeletions: Bool {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        try connection.first(Setting.read, Setting.deletions) { _ in true } ?? false
      }
    }
  }

  /// Compares the list with some facts of the manifest, in their order, that an older version
  /// has applied.
  ///
  /// - Parameter isLast: whether the list is complete then.
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

/// What a fact of the manifest says about the deletion of bytes.
package enum DeletionFact: Hashable, Sendable {
  /// An asset of them was deleted.
  case deleted(DeletedOriginal)
  /// An asset was made of them, or a file was let go for their sake.
  case relied(on: Digest)
}

extension CatalogReader {
  /// Returns whether an original waits for `gc`, because it was deleted for good.
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
  /// Puts bytes on the list of deleted ones.
  func note(_ original: DeletedOriginal) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO deletion (digest, asset, sequence) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET asset = excluded.asset, sequence = excluded.sequence
      """, original.digest, original.asset, original.sequence)
  }

  /// Takes bytes off the list of deleted ones.
  func keep(_ digest: Digest) throws(CatalogError) {
    try connection.execute("DELETE FROM deletion WHERE digest = ?", digest)
  }
}
