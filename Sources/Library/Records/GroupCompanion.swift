package import PipelineModel

/// A member of a group.
package struct GroupCompanion: Hashable, Sendable {
  package var id: AssetID
  package var role: GroupMember.Role
  /// The file's name when it was imported.
  package var name: BytePath

  package init(
    id: AssetID, role: GroupMember.Role, name: BytePath
  ) {
    self.id = id
    self.role = role
    self.name = name
  }
}

/// A shot of a burst, by its primary.
package struct BurstShot: Hashable, Sendable {
  package var id: AssetID
  /// The file's name when it was imported.
  package var name: BytePath

  package init(
    id: AssetID, name: BytePath
  ) {
    self.id = id
    self.name = name
  }
}
