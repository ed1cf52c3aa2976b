package import PipelineModel

/// An asset with all that a search knows of it, read from the narrow rows that searches use.
package struct FoundAsset: Sendable {
  package var id: AssetID
  package var digest: Digest
  /// Name, source and path as they are; bytes that are not UTF-8 are replaced.
  package var name: String
  package var source: String
  package var path: String
  package var state: String
  package var type: String?
  package var kind: String?
  package var camera: String?
  package var lens: String?
  package var title: String?
  package var caption: String?
  package var tags: [String] = []
  package var albums: [String] = []
  /// Its place among files that belong together.
  package var role: String?
  /// What stands for the burst that its shot is of, if it is that shot's primary.
  package var cover: AssetID?
  /// Microseconds since 1970, by the clock on the spot.
  package var taken: Int64?
  /// Microseconds since 1970, as the next two.
  package var imported: Int64
  package var modified: Int64
  package var trashed: Int64?
  /// Bytes.
  package var size: Double
  /// Pixels, as the next one.
  package var width: Double?
  package var height: Double?
  package var iso: Double?
  package var aperture: Double?
  /// Seconds.
  package var exposure: Double?
  /// Millimetres.
  package var focal: Double?
  package var rating: Double?
  /// Degrees, as the next one.
  package var latitude: Double?
  package var longitude: Double?
  /// Its renditions, if they were asked for.
  package var renditions: [RenditionRecord]?

  /// Makes one of which only what every asset has is known.
  package init(
    id: AssetID, digest: Digest, name: String, source: String, path: String, state: String,
    imported: Int64, modified: Int64, size: Double
  ) {
    self.id = id
    self.digest = digest
    self.name = name
    self.source = source
    self.path = path
    self.state = state
    self.imported = imported
    self.modified = modified
    self.size = size
  }
}
