package import PipelineModel

/// An asset's place in its group.
package struct GroupMember: Hashable, Sendable {
  package enum Role: String, CaseIterable, Hashable, Sendable {
    /// What stands for the group: the JPEG or HEIC, otherwise the raw file, otherwise the film.
    case primary
    /// Another picture of the same shot.
    case picture
    case raw
    case movie
    case sidecar
    /// A sidecar without a picture, in no group.
    case orphan
  }

  /// The primary asset; an orphan's own key.
  package var leader: AssetID
  /// What joins the group; empty for an orphan.
  package var kinds: [GroupKind]
  package var role: Role
  /// The sidecar whose metadata counts for this asset.
  package var sidecar: AssetID?

  package init(leader: AssetID, kinds: [GroupKind], role: Role, sidecar: AssetID? = nil) {
    self.leader = leader
    self.kinds = kinds
    self.role = role
    self.sidecar = sidecar
  }
}
