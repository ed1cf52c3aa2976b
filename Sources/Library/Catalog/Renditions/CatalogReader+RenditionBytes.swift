package import Records

extension CatalogReader {
  /// Returns the bytes of a rendition that is not a file, or `nil` if they are missing or can't be
  /// read from a damaged database.
  ///
  /// - Throws: `.unreadableBytes` if PostgreSQL can't read them.
  package func renditionBytes(_ id: Int64) throws(CatalogError) -> [UInt8]? {
    guard renditions != nil else {
      // One statement sees one snapshot without a transaction.
      return try access.syncReentrantly { (connection) throws(CatalogError) in
        try connection.bytes(of: id)
      }
    }
    // The catalog first: bytes on their way from it are in the database before they leave it.
    let (bytes, key) = try read { (connection) throws(CatalogError) -> ([UInt8]?, RenditionKey?) in
      if let bytes = try connection.bytes(of: id) { return (bytes, nil) }
      return (nil, try connection.renditionKey(of: id))
    }
    guard let key else { return bytes }
    return try keptBytes(key)
  }

  /// Returns the bytes of a rendition as `renditionBytes` does, without asking the catalog if they are
  /// where they were when it was found.
  package func bytes(of stored: StoredRendition) throws(CatalogError) -> [UInt8]? {
    switch stored.source {
    case .bytes(let bytes): return bytes
    case .key(let key):
      if let bytes = try keptBytes(key) { return bytes }
    case nil: break
    }
    return try renditionBytes(stored.record.id)
  }

  private func keptBytes(_ key: RenditionKey) throws(CatalogError) -> [UInt8]? {
    try renditions?.sync { (database) throws(CatalogError) in
      try database.read { (connection) throws(CatalogError) in try connection.keptRendition(key) }
    }
  }

  /// Returns a page of bytes in the database of renditions that no record names, with their sizes, and
  /// the last key of the page; `nil` after the last page.
  package func unnamedBytes(
    after key: RenditionKey?, limit: Int
  ) throws(CatalogError) -> (last: RenditionKey, count: Int, bytes: Int)? {
    guard let renditions else { return nil }
    let page = try renditions.sync { (database) throws(CatalogError) in
      try database.read { (connection) throws(CatalogError) in
        try connection.keptRenditions(after: key, limit: limit)
      }
    }
    guard let page, let last = page.last else { return nil }
    // The database before the catalog, so that what is committed meanwhile has a record.
    let unnamed = try read { (connection) throws(CatalogError) in
      var unnamed: [RenditionKey] = []
      for key in page where try !connection.namesRendition(key) { unnamed.append(key) }
      return unnamed
    }
    let sizes = try renditions.sync { (database) throws(CatalogError) in
      try database.read { (connection) throws(CatalogError) in try connection.sizes(of: unnamed) }
    }
    return (last, unnamed.count, sizes ?? 0)
  }
}

extension Catalog {
  /// Removes those of a page of bytes in the database of renditions that no record names.
  ///
  /// - Returns: the number and bytes of what was removed, and the last key of the page; `nil` after the
  ///   last page, or if the database is damaged.
  package func removeUnnamedBytes(
    after key: RenditionKey?, limit: Int
  ) throws(CatalogError) -> (last: RenditionKey, count: Int, bytes: Int)? {
    try access.sync { (writer) throws(CatalogError) in
      guard let renditions = writer.renditions else { return nil }
      let page = try renditions.read { (database) throws(CatalogError) in
        try database.keptRenditions(after: key, limit: limit)
      }
      guard let page, let last = page.last else { return nil }
      let unnamed = try writer.unnamed(among: page)
      let sizes = try renditions.read { (database) throws(CatalogError) in
        try database.sizes(of: unnamed)
      }
      try renditions.remove(unnamed)
      return (last, unnamed.count, sizes ?? 0)
    }
  }
}

extension Connection {
  fileprivate func sizes(of keys: [RenditionKey]) throws(CatalogError) -> Int {
    var sum = 0
    for key in keys { sum += try keptRenditionSize(key) ?? 0 }
    return sum
  }
}

/// A recorded rendition with its bytes, or with what finds them.
package struct StoredRendition: Sendable {
  enum Source {
    /// From the catalog itself, read with the record.
    case bytes([UInt8])
    /// In the database of renditions.
    case key(RenditionKey)
  }

  package let record: RenditionRecord
  /// `nil` if it is a file, or if that was not looked up.
  let source: Source?

  init(_ record: RenditionRecord, _ source: Source?) {
    self.record = record
    self.source = source
  }

  package init(_ record: RenditionRecord) { self.init(record, nil) }
}
