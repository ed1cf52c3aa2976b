package import PipelineModel
package import Records

extension CatalogReader {
  /// The shots of the burst that an asset's shot is of, by path and key; empty if it is of none.
  package func burst(of id: AssetID) throws(CatalogError) -> [BurstShot] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT asset.id, asset.name FROM frame INDEXED BY frame_cover
          CROSS JOIN asset ON asset.id = frame.asset
        WHERE frame.cover = \(Schema.burst("cover", of: "?1")) ORDER BY asset.path, asset.id
        """, id
      ) { (row) throws(CatalogError) in BurstShot(id: try row.assetID(0), name: row.path(1)) }
    }
  }

  /// The members of an asset's group, itself included: the primary, then the others by key. Empty if it
  /// is in none.
  package func group(of id: AssetID) throws(CatalogError) -> [GroupCompanion] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT other.asset, other.role, asset.name
        FROM member CROSS JOIN member AS other INDEXED BY member_leader
            ON other.leader = member.leader
          CROSS JOIN asset ON asset.id = other.asset
        WHERE member.asset = ? AND member.role <> 'orphan'
        ORDER BY other.role <> 'primary', other.asset
        """, id
      ) { (row) throws(CatalogError) in
        GroupCompanion(
          id: try row.assetID(0), role: try row.value(1, as: GroupMember.Role.self),
          name: row.path(2))
      }
    }
  }
}

/// The other members of the groups of some assets, each once.
package struct GroupCompletion {
  private let catalog: CatalogReader
  /// Members of groups that were returned or named, which come again if they are found themselves.
  private var seen: Set<AssetID> = []

  package init(_ catalog: CatalogReader) { self.catalog = catalog }

  /// Whether an asset has not been returned with another one.
  package func isNew(_ id: AssetID) -> Bool { !seen.contains(id) }

  /// The other members of an asset's group that are new.
  package mutating func others(with id: AssetID) throws(CatalogError) -> [AssetID] {
    let group = try catalog.group(of: id).map(\.id)
    let others = group.filter { $0 != id && !seen.contains($0) }
    seen.formUnion(group)
    return others
  }
}
