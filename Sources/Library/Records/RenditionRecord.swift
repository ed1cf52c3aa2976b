package import PipelineModel

/// A recorded rendition.
package struct RenditionRecord: Hashable, Sendable {
  package var id: Int64
  package var stage: String
  package var name: String
  /// The media type, such as `image/jpeg`.
  package var mediaType: String
  package var width: Int
  package var height: Int
  package var bytes: Int
  package var digest: Digest
  /// `image` for one made from the picture itself, `preview` from an embedded preview, `damaged`
  /// from a picture with damaged data.
  package var from: String?
  /// The path below the library, or `nil` if the bytes are in the database.
  package var path: String?
  /// Whether it was made with other options, and a newer one is due.
  package var isStale: Bool

  package init(
    id: Int64, stage: String, name: String, mediaType: String, width: Int, height: Int, bytes: Int,
    digest: Digest, from: String? = nil, path: String? = nil, isStale: Bool
  ) {
    self.id = id
    self.stage = stage
    self.name = name
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.from = from
    self.path = path
    self.isStale = isStale
  }
}

/// A rendition to record, with values as in `RenditionRecord`.
package struct NewRendition: Hashable, Sendable {
  package var name: String
  package var mediaType: String
  package var width: Int
  package var height: Int
  package var bytes: Int
  package var digest: Digest
  package var from: String?
  package var content: RenditionContent
  /// The key of the rendition of a stale result that it continues: the same bytes in a place of their own.
  package var former: Int64?

  package init(
    name: String, mediaType: String, width: Int, height: Int, bytes: Int, digest: Digest,
    from: String?, content: RenditionContent, former: Int64? = nil
  ) {
    self.name = name
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.from = from
    self.content = content
    self.former = former
  }
}

/// Where a rendition's bytes are.
package enum RenditionContent: Hashable, Sendable {
  case database([UInt8])
  /// In a durable file at this path below the library, or a durable object of this name.
  case file(path: String)
  /// Those of the rendition that it continues, which stay in the catalog's own table.
  case former
}

/// A rendition to be moved.
package struct MisplacedRendition: Hashable, Sendable {
  package var id: Int64
  package var name: String
  package var mediaType: String
  /// The size in bytes.
  package var bytes: Int
  package var digest: Digest
  /// The original's digest or the asset's key in hexadecimal, as in the file name.
  package var owner: String
  package var fingerprint: Fingerprint
  /// The file with the bytes; `nil` if they are in the database.
  package var path: String?

  package init(
    id: Int64, name: String, mediaType: String, bytes: Int, digest: Digest, owner: String,
    fingerprint: Fingerprint, path: String? = nil
  ) {
    self.id = id
    self.name = name
    self.mediaType = mediaType
    self.bytes = bytes
    self.digest = digest
    self.owner = owner
    self.fingerprint = fingerprint
    self.path = path
  }
}
