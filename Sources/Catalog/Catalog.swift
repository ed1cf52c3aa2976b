package import PipelineModel

/// The records and the ledger in SQLite: the one connection that writes.
package final class Catalog: Ledger, Sendable {
  private init() {}
  static let unready = CatalogError(.database, "The catalog can't do this yet.")

  package static func create(
    at file: BytePath, libraryID: String
  ) throws(CatalogError) -> Catalog { throw unready }
  package static func open(
    at file: BytePath, libraryID: String
  ) throws(CatalogError) -> Catalog { throw unready }
  package func close() throws(CatalogError) {}

  package func apply(
    _ changes: [CatalogChange], manifestPosition: Int64
  ) throws(CatalogError) { throw Self.unready }
  package var manifestPosition: Int64 { get throws(CatalogError) { throw Self.unready } }
  package func newestAssetID() throws(CatalogError) -> AssetID? { throw Self.unready }
  package func beginRun(_ run: RunRecord) throws(CatalogError) { throw Self.unready }
  package func endRun(
    _ id: AssetID, counters: [String: Int], at time: Timestamp
  ) throws(CatalogError) { throw Self.unready }
  package func setting(_ key: String) throws(CatalogError) -> String? { throw Self.unready }
  package func set(_ key: String, to value: String?) throws(CatalogError) { throw Self.unready }

  package func assets(with digest: Digest) throws(CatalogError) -> [AssetID] { throw Self.unready }
  package func sighting(
    source: BytePath, path: BytePath
  ) throws(CatalogError) -> Sighting? { throw Self.unready }
  package func hasOriginal(_ digest: Digest) throws(CatalogError) -> Bool { throw Self.unready }
  package func sightings(of source: BytePath) throws(CatalogError) -> SightingCursor {
    throw Self.unready
  }
  package func sightingsAwaitingRemoval(
    of source: BytePath
  ) throws(CatalogError) -> SightingCursor { throw Self.unready }

  package func configure(_ stages: [StageDefinition]) throws(CatalogError) { throw Self.unready }
  package func claim(
    stage: String, limit: Int, suspects: Bool
  ) throws(CatalogError) -> [ClaimedJob] { throw Self.unready }
  package func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    throw Self.unready
  }
  package func giveBack(_ tokens: [AttemptToken]) throws(CatalogError) { throw Self.unready }
  package func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] {
    throw Self.unready
  }
  package func nextDue() throws(CatalogError) -> Timestamp? { throw Self.unready }
  package func misplacedRenditions(
    stage: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] { throw Self.unready }
  package func relocate(
    _ rendition: Int64, to content: RenditionContent
  ) throws(CatalogError) { throw Self.unready }
  package func invalidate(rendition: Int64) throws(CatalogError) { throw Self.unready }
  package func retry(assets: [AssetID]?) throws(CatalogError) -> Int { throw Self.unready }
}
