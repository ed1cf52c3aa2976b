package import PipelineModel

/// A claimed row, with the inputs of its job.
package struct ClaimedJob: Hashable, Sendable {
  package var token: AttemptToken
  package var stage: String
  /// The oldest asset outside the trash that refers to the row.
  package var asset: AssetID
  package var name: BytePath
  package var digest: Digest
  package var size: Int
  package var fingerprint: Fingerprint
  /// Whether it belongs to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Facts of the needed stages, by stage name.
  package var facts: [String: JSONValue]
  /// The rendition to work on, if the stage has an input and the asset has it.
  package var input: InputRendition?
  /// What a stale result has that need not be made again.
  package var kept: KeptResult?
  /// Which attempt this is, from 1.
  package var attempt: Int
  /// Whether earlier attempts ended with the process, so that this one runs alone.
  package var isSuspect: Bool

  package init(
    token: AttemptToken, stage: String, asset: AssetID, name: BytePath, digest: Digest, size: Int,
    fingerprint: Fingerprint, isAssetScoped: Bool, facts: [String: JSONValue],
    input: InputRendition? = nil, kept: KeptResult? = nil, attempt: Int, isSuspect: Bool
  ) {
    self.token = token
    self.stage = stage
    self.asset = asset
    self.name = name
    self.digest = digest
    self.size = size
    self.fingerprint = fingerprint
    self.isAssetScoped = isAssetScoped
    self.facts = facts
    self.input = input
    self.kept = kept
    self.attempt = attempt
    self.isSuspect = isSuspect
  }
}

/// What of a stale result is valid under the new fingerprint, too: at least one rendition.
package struct KeptResult: Hashable, Sendable {
  /// All facts of the stale result.
  package var facts: JSONValue
  /// The names of the parts that depend on the same as before, also of those without a rendition.
  package var parts: Set<String>
  /// The renditions of those parts.
  package var renditions: [RenditionRecord]

  package init(facts: JSONValue, parts: Set<String>, renditions: [RenditionRecord]) {
    self.facts = facts
    self.parts = parts
    self.renditions = renditions
  }
}

/// A rendition that a job works on.
package struct InputRendition: Hashable, Sendable {
  package var id: Int64
  package var reference: RenditionReference
  package var mediaType: String
  package var width: Int
  package var height: Int
  package var bytes: Int
  package var digest: Digest
  /// The path below the library, or `nil` if the bytes are in the database.
  package var path: String?

  package init(
    id: Int64, reference: RenditionReference, mediaType: String, width: Int, height: Int,
    bytes: Int, digest: Digest, path: String? = nil
  ) {
    self.id = id
    self.reference = reference
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.path = path
  }
}

/// Identifies one attempt; the ledger refuses the token once the attempt has ended.
package struct AttemptToken: Hashable, Sendable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
}
