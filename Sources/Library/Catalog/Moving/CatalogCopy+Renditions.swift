import Hashing
import PipelineModel
import Records

/// The bytes of renditions that are not files. Each is compared with what its row says.
extension CatalogCopy {
  /// A rendition that should have bytes.
  private struct Named {
    let id: Int64
    let size: Int
    let digest: Digest
    let key: RenditionKey
  }

  /// The most renditions, and the most bytes, of one transaction, unless one alone has more.
  private static let most = (renditions: 128, bytes: 4 << 20)

  func copyRenditions(to target: Connection) throws(CatalogError) {
    let total = try source.connection.keptRenditionCount()
    let database: RenditionDatabase? =
      if case .file(let file) = target.place {
        // The draft needs no record that they are lost: each is looked for here.
        RenditionDatabase(beside: file) {}
      } else {
        nil
      }
    defer { database?.close() }
    var last: Int64 = 0
    while case let page = try page(after: last), let end = page.last {
      var rest = page[...]
      while !rest.isEmpty {
        var sum = 0
        let group = rest.prefix { named in
          defer { sum += named.size }
          return sum == 0 || sum + named.size <= Self.most.bytes
        }
        rest = rest.dropFirst(group.count)
        try copy(group, to: target, database)
        reportRenditions(of: total)
        try requireNotStopped()
      }
      last = end.id
    }
  }

  private func page(after id: Int64) throws(CatalogError) -> [Named] {
    try source.connection.all(
      """
      SELECT rendition.id, rendition.bytes, rendition.digest, \(RenditionKey.columns)
      FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE rendition.id > ? AND rendition.path IS NULL ORDER BY rendition.id LIMIT ?
      """, id, Self.most.renditions
    ) { (row) throws(CatalogError) in
      Named(
        id: row.int64(0), size: row.int(1), digest: try row.digest(2), key: try row.renditionKey(3))
    }
  }

  private func copy(
    _ group: ArraySlice<Named>, to target: Connection, _ database: RenditionDatabase?
  ) throws(CatalogError) {
    var whole: [(named: Named, bytes: [UInt8])] = []
    var lost: [RenditionKey] = []
    for named in group {
      let bytes = try source.bytes(of: named.id, named.key)
      if let bytes, bytes.count == named.size, SHA256.digest(of: bytes) == named.digest {
        whole.append((named, bytes))
      } else {
        lost.append(named.key)
      }
    }
    if let database {
      try database.write { (connection) throws(CatalogError) in
        for (named, bytes) in whole { try connection.keepRendition(bytes, as: named.key) }
        // A file that was there before may have some under this key.
        for key in lost { try connection.removeKeptRendition(key) }
      }
    } else {
      try target.transaction { () throws(CatalogError) in
        for (named, bytes) in whole {
          try target.execute(
            "INSERT INTO rendition_bytes (rendition, content) VALUES (?, ?)", named.id,
            SQLValue.blob(bytes))
        }
      }
    }
    result.renditions += whole.count
    result.renditionBytes += whole.reduce(0) { $0 + $1.bytes.count }
    result.lost += lost.count
  }
}
