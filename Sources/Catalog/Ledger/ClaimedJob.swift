package import PipelineModel

/// A claimed row, with the inputs of its job.
package struct ClaimedJob: Hashable, Sendable {
  /// The attempt.
  package var token: AttemptToken
  /// The name of the stage.
  package var stage: String
  /// The oldest asset outside the trash that refers to the row.
  package var asset: AssetID
  /// The name.
  package var name: BytePath
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The number of bytes.
  package var size: Int
  /// What the result depends on besides the bytes.
  package var fingerprint: Fingerprint
  /// Whether it belongs to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Facts of the needed stages, by stage name.
  package var facts: [String: JSONValue]
  /// Which attempt this is, from 1.
  package var attempt: Int
  /// Whether earlier attempts ended with the process, so that this one runs alone.
  package var isSuspect: Bool

  /// Creates a claimed job.
  package init(
    token: AttemptToken, stage: String, asset: AssetID, name: BytePath, digest: Digest, size: Int,
    fingerprint: Fingerprint, isAssetScoped: Bool, facts: [String: JSONValue], attempt: Int,
    isSuspect: Bool
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
    self.attempt = attempt
    self.isSuspect = isSuspect
  }
}
