package import PipelineModel

/// Reading the catalog, beside the writer or without one.
package final class CatalogReader: Sendable {
  private init() {}

  package static func open(
    at file: BytePath, immutable: Bool
  ) throws(CatalogError) -> CatalogReader { throw Catalog.unready }
  package func close() throws(CatalogError) {}

  package func assets(_ body: (AssetRecord) throws -> Void) throws { throw Catalog.unready }
  package func asset(_ id: AssetID) throws(CatalogError) -> AssetRecord? { throw Catalog.unready }
  package func assetIDs(
    matching text: String, limit: Int
  ) throws(CatalogError) -> [AssetID] { throw Catalog.unready }
  package func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    throw Catalog.unready
  }
  package func sightings(of asset: AssetID) throws(CatalogError) -> [Sighting] {
    throw Catalog.unready
  }
  package func sighting(
    source: BytePath, path: BytePath
  ) throws(CatalogError) -> Sighting? { throw Catalog.unready }
  package func sightings(path absolute: BytePath) throws(CatalogError) -> [Sighting] {
    throw Catalog.unready
  }
  package func jobs(of asset: AssetID) throws(CatalogError) -> [JobRecord] {
    throw Catalog.unready
  }
  package func attempts(
    of asset: AssetID, stage: String
  ) throws(CatalogError) -> [AttemptRecord] { throw Catalog.unready }
  package func failures() throws(CatalogError) -> [FailureRecord] { throw Catalog.unready }
  package func status() throws(CatalogError) -> StatusCounts { throw Catalog.unready }
  package func originals(_ body: (Digest, Int) throws -> Void) throws { throw Catalog.unready }
  package func allRenditions(_ body: (RenditionRecord) throws -> Void) throws {
    throw Catalog.unready
  }
  package func renditionBytes(_ id: Int64) throws(CatalogError) -> [UInt8]? {
    throw Catalog.unready
  }
  package var lastManifestPosition: Int64 { get throws(CatalogError) { throw Catalog.unready } }
}
