package import Catalog
package import Files
import Hashing
package import PipelineModel
package import Records
import Renditions

/// Reads the bytes of renditions, wherever they are stored.
package struct RenditionReader: Sendable {
  enum Condition: Hashable {
    case whole, missing, damaged
    /// Its file can't be read, or something else is in its place.
    case unreadable(FileError)
  }

  private let store: any RenditionStore
  private let catalog: CatalogReader

  init(store: any RenditionStore, catalog: CatalogReader) {
    self.store = store
    self.catalog = catalog
  }

  package init(of library: LibraryFolder, _ catalog: CatalogReader) throws(CatalogError) {
    self.init(store: try library.renditions(catalog), catalog: catalog)
  }

  /// Returns the content if it matches the record, or `nil` if it is missing or differs.
  package func content(of rendition: RenditionRecord) throws -> VerifiedRendition? {
    try content(of: StoredRendition(rendition))
  }

  /// Returns the content as above, without asking the catalog where the bytes are.
  package func content(of stored: StoredRendition) throws -> VerifiedRendition? {
    let rendition = stored.record
    guard let path = rendition.path else {
      let bytes: [UInt8]?
      do throws(CatalogError) {
        bytes = try catalog.bytes(of: stored)
      } catch {
        guard error.code == .unreadableBytes else { throw error }
        bytes = nil
      }
      return bytes.flatMap { isWhole($0, rendition) ? .bytes($0) : nil }
    }
    guard let file = try open(path, rendition.digest),
      try file.hash().digest == rendition.digest
    else { return nil }
    return .file(file)
  }

  /// Returns the content of an asset's rendition.
  ///
  /// - Throws: `FileError` of code `notFound` if it is missing or differs from the record, or a
  ///   `CatalogError`.
  package func content(
    of rendition: RenditionRecord, of asset: AssetID
  ) throws -> VerifiedRendition {
    guard let content = try content(of: rendition) else {
      throw FileError(
        .notFound,
        "The rendition \(rendition.stage)/\(rendition.name) of \(asset) is missing or damaged; "
          + "`pipeline verify --repair` makes it again.",
        path: rendition.path.map { BytePath($0) })
    }
    return content
  }

  /// Returns all bytes, or `nil` if they are missing or differ from the record.
  package func wholeBytes(of rendition: RenditionRecord) throws -> [UInt8]? {
    guard let content = try content(of: rendition) else { return nil }
    var bytes: [UInt8] = []
    try content.forEachChunk { chunk throws(FileError) in bytes.append(contentsOf: chunk) }
    return bytes
  }

  private func isWhole(_ bytes: [UInt8], _ rendition: RenditionRecord) -> Bool {
    SHA256.digest(of: bytes) == rendition.digest
  }

  /// Reads a rendition, from its disk where possible, and compares its bytes with the record.
  ///
  /// - Throws: `FileError` of code `stopped` if `isStopped` returns true, or `unavailable` if its store can't be
  ///   used for now, or a `CatalogError`.
  func condition(
    of rendition: RenditionRecord, isStopped: @escaping () -> Bool = { false }
  ) throws -> Condition {
    guard let path = rendition.path else {
      do throws(CatalogError) {
        guard let bytes = try catalog.renditionBytes(rendition.id) else { return .missing }
        return isWhole(bytes, rendition) ? .whole : .damaged
      } catch {
        guard error.concernsRenditions else { throw error }
        return .unreadable(FileError(.other, error.message, path: error.path))
      }
    }
    do throws(FileError) {
      guard let file = try open(path, nil) else { return .missing }
      let digest = try file.hashFromDisk(isStopped: isStopped).digest
      return digest == rendition.digest ? .whole : .damaged
    } catch {
      if [.stopped, .unavailable].contains(error.code) { throw error }
      return .unreadable(error)
    }
  }

  private func open(_ path: String, _ digest: Digest?) throws(FileError) -> Descriptor? {
    try ifThere { () throws(FileError) in try store.open(path, copyOf: digest) }
  }
}

/// The content of a rendition that matches its record.
package enum VerifiedRendition {
  case bytes([UInt8])
  case file(Descriptor)

  /// Calls `body` with the content in chunks, however large it is.
  package func forEachChunk(
    _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    switch self {
    case .bytes(let bytes):
      try bytes.withUnsafeBytes { bytes in
        Result { () throws(FileError) in try body(bytes) }
      }.get()
    case .file(let file):
      try file.seek(to: 0)
      try file.forEachChunk(body)
    }
  }
}
