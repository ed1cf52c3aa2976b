import Catalog
import Files
import Manifest
package import PipelineModel
import Records

/// Rebuilds the catalog of a locked library from its manifest.
package struct CatalogRebuild {
  package struct Result: Sendable {
    package let assets: Int
    /// Where the old catalog is kept, if there was one: its file, or the name of its schema.
    package let oldCatalog: BytePath?
  }

  private let library: LibraryFolder

  package init(_ library: LibraryFolder) { self.library = library }

  /// Replays the whole manifest into a new catalog, then replaces the old one.
  ///
  /// - Parameters:
  ///   - progress: called with the number of facts read, and their total.
  ///   - isStopped: called while the bucket is asked.
  /// - Throws: `IngestError` of code `catalog` if the bucket has a manifest with facts that this one lacks.
  package func run(
    progress: @escaping (Int64, Int64) -> Void = { _, _ in },
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> Result {
    try library.prepareFolders()
    try library.compareManifestCopies(isStopped: isStopped)
    let lock = try CatalogFolder(of: library).claim()
    return try withExtendedLifetime(lock) {
      var former = try CatalogDraft(of: library, named: "catalog-rebuilt.sqlite").make {
        try replay(into: $0, progress)
      }
      if library.layout.database != nil {
        // A file of before the library moved to the database would still be a catalog for a configuration without
        // one, whose `gc` would remove renditions of this one.
        let folder = try Descriptor.openFolder(library.layout.catalogFolder)
        let file = try CatalogFiles(folder: folder, name: library.layout.catalog.lastComponent)
          .setAside()
        try folder.sync()
        former = former ?? file
      }
      // Of a file nobody changes, and a locking reader would leave files next to it.
      let reader = try CatalogReader.open(at: library.layout.catalogPlace, immutable: true)
      defer { try? reader.close() }
      return Result(assets: try reader.status().assets, oldCatalog: former)
    }
  }

  private func replay(
    into catalog: Catalog, _ progress: @escaping (Int64, Int64) -> Void
  ) throws {
    let manifest = try library.openManifest()
    let facts = manifest.lastSequence
    try Replay(catalog: catalog, manifest: manifest) { progress($0, facts) }.run()
    // Otherwise a manifest of another history, which is longer, would be replayed from here on.
    try HistoryMark(catalog: catalog, manifest: manifest).note()
    try RebuiltCatalog(catalog).note(at: .now)
  }
}

/// Keeps track of the sources whose contents a rebuilt catalog does not know yet.
///
/// The manifest does not record when a file left its source. So the first scan of a source after a
/// rebuild may miss any number of files, which means nothing.
struct RebuiltCatalog {
  private let catalog: Catalog
  private static let rebuilt = "catalog.rebuilt"
  private static let confirmed = "source.confirmed."

  init(_ catalog: Catalog) { self.catalog = catalog }

  /// Records that the catalog was rebuilt.
  func note(at time: Timestamp) throws(CatalogError) {
    try catalog.set(Self.rebuilt, to: String(time.microseconds))
  }

  /// Whether more is known of a source than the manifest records.
  func isConfirmed(_ source: BytePath) throws(CatalogError) -> Bool {
    guard let rebuilt = try catalog.setting(Self.rebuilt) else { return true }
    return try catalog.setting(Self.key(source)) == rebuilt
  }

  /// Records that a source was scanned completely.
  func confirm(_ source: BytePath) throws(CatalogError) {
    try catalog.set(Self.key(source), to: try catalog.setting(Self.rebuilt))
  }

  private static func key(_ source: BytePath) -> String {
    confirmed + Hexadecimal.encode(source.bytes)
  }
}
