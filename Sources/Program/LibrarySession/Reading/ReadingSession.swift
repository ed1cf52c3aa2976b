package import Catalog
import Configuration
package import Files
package import Ingest
package import PipelineModel
package import Query
package import Records

/// A configured library opened for reading: without a lock, and nothing is written.
package struct ReadingSession: Sendable {
  package let setup: LibrarySetup
  private var readable: ReadableLibrary

  package var library: LibraryFolder { readable.library }
  package var catalog: CatalogReader { readable.catalog }

  package init(_ search: ConfigurationSearch) throws {
    setup = try LibrarySetup(search)
    readable = try ReadableLibrary(setup.layout)
  }

  /// Opens the catalog again if it is another file by now.
  package mutating func refresh() throws {
    if readable.isOutdated { readable = try ReadableLibrary(setup.layout) }
  }

  /// Opens the library; returns `nil` if it does not exist or is still empty.
  package static func ifPresent(_ search: ConfigurationSearch) throws -> ReadingSession? {
    do {
      return try ReadingSession(search)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  /// Counts everything.
  package func status() throws -> LibraryStatus {
    try LibraryStatus(of: readable, sources: setup.recordedSources)
  }

  /// Counts everything for a monitoring system.
  package func metrics() throws -> LibraryMetrics {
    try LibraryMetrics(
      of: readable, sources: setup.recordedSources, reserve: setup.reserve())
  }

  /// Everything known about an asset.
  package func whole(_ asset: AssetRecord) throws -> WholeAsset {
    try WholeAsset(asset, in: readable)
  }

  /// What `verify` found missing or damaged, and nothing changed since.
  package func damage() throws -> [AssetID: [DamageList.Entry]] { try readable.damage() }

  /// The assets that `verify` found damaged, if a filter asks for them.
  package func damagedAssets(for filter: Filter) throws -> Set<AssetID> {
    try readable.damagedAssets(for: filter)
  }

  /// Calls `body` with an original's bytes in chunks.
  ///
  /// - Throws: `FileError` of code `changed`, after the last chunk, if the original is damaged.
  package func readOriginal(
    of asset: AssetRecord, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    try readable.readOriginal(asset.digest, body)
  }

  /// Finds the only asset that matches an ID.
  ///
  /// - Parameter text: a UUID, or any unique prefix or suffix of one.
  /// - Throws: `SessionError` of code `noAsset`.
  package func asset(_ text: BytePath) throws -> AssetRecord {
    let matches = try catalog.assetIDs(matching: text.description, limit: 3)
    guard let id = matches.first else {
      throw SessionError(
        .noAsset,
        "No asset has an ID that begins or ends with “\(text.printable)”; `pipeline list` shows "
          + "them.")
    }
    guard matches.count == 1 else {
      let some = matches.map(\.description).joined(separator: ", ")
      throw SessionError(
        .noAsset,
        "“\(text.printable)” matches more than one asset (\(some)…); write more of the ID.")
    }
    guard let asset = try catalog.asset(id) else {
      throw SessionError(.noAsset, "The asset \(id) was removed just now.")
    }
    return asset
  }
}
