package import PipelineModel

/// A row that was claimed, with what its job needs.
package struct ClaimedJob: Hashable, Sendable {
  package var token: AttemptToken
  package var stage: String
  /// An asset that refers to the row: the oldest one.
  package var asset: AssetID
  package var name: BytePath
  package var digest: Digest
  package var size: Int
  package var fingerprint: Fingerprint
  package var isAssetScoped: Bool
  /// Facts of the needed stages, by stage name.
  package var facts: [String: JSONValue]
  /// Which attempt this is, from 1.
  package var attempt: Int
  /// Whether earlier attempts ended with the process, so that this one runs alone.
  package var isSuspect: Bool

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
