import PipelineModel
import Records

/// Joining the parts of Live Photos that have the same content identifier and different names.
///
/// The names alone form the groups first. A link then puts the film, with its sidecars, into the group of
/// the picture; each row that it changes remembers the group that the names gave.
extension CatalogWriter {
  /// The most files with one identifier that are looked at.
  private static let mostParts = 100

  /// What an identifier joins.
  private struct Link: Equatable {
    /// The primary of the picture's group.
    var leader: AssetID
    var film: AssetID
  }

  /// Joins the files with the marked identifiers anew.
  func updateLivePhotos() throws(CatalogError) {
    var links: [(value: [UInt8], link: Link)] = []
    for value in try markedSigns(.livePhoto) {
      let link = try groupPolicy[.livePhoto] == nil ? nil : link(of: value)
      if try link == currentLink(of: value) { continue }
      try unlink(value)
      if let link { links.append((value, link)) }
    }
    // Only after all others are gone, so that no file is in two.
    for (value, link) in links { try connect(link, by: value) }
  }

  /// Gives the members of a link back to the groups of their names.
  func unlink(_ value: [UInt8]) throws(CatalogError) {
    try connection.execute(
      "DELETE FROM member WHERE link = ? AND own_kinds = ''", SQLValue.blob(value))
    try connection.execute(
      """
      UPDATE member SET leader = own_leader, kinds = own_kinds,
        role = iif(own_leader = asset, 'primary', role),
        link = NULL, own_leader = NULL, own_kinds = NULL
      WHERE link = ?
      """, SQLValue.blob(value))
  }

  /// Gives the members of a linked group back to the groups of their names, and marks the identifier.
  func unlinkGroup(of asset: AssetID) throws(CatalogError) {
    let value = try connection.first(
      "SELECT link FROM member WHERE asset = ? AND link IS NOT NULL", asset
    ) { $0.blob(0) }
    guard let value else { return }
    try unlink(value)
    try mark(.livePhoto, value)
  }

  private func currentLink(of value: [UInt8]) throws(CatalogError) -> Link? {
    try connection.first(
      """
      SELECT leader, asset FROM member INDEXED BY member_link WHERE link = ? AND role = 'movie'
      """, SQLValue.blob(value)
    ) { (row) throws(CatalogError) in
      Link(leader: try row.assetID(0), film: try row.assetID(1))
    }
  }

  /// What an identifier joins: the only shot and the only film that have it; `nil` if there are others,
  /// or if their names say enough.
  private func link(of value: [UInt8]) throws(CatalogError) -> Link? {
    let parts = try connection.all(
      """
      SELECT asset, movie, camera, \(Self.counts("record.asset"))
      FROM (SELECT asset, movie, camera FROM sign INDEXED BY sign_value
        WHERE kind = 'livePhoto' AND value = ? LIMIT \(Self.mostParts + 1)) AS record
      """, SQLValue.blob(value)
    ) { (row) throws(CatalogError) in
      (
        asset: try row.assetID(0), isMovie: row.bool(1), camera: row.optional(2, row.text),
        counts: row.bool(3)
      )
    }
    guard parts.count <= Self.mostParts else { return nil }
    let (films, pictures) = (
      parts.filter { $0.counts && $0.isMovie }, parts.filter { $0.counts && !$0.isMovie }
    )
    guard films.count == 1, let film = films.first?.asset,
      Sign.areConsistent(Set((films + pictures).compactMap(\.camera))),
      try connection.ownMember(film)?.leader ?? film == film
    else { return nil }
    var leaders: Set<AssetID> = []
    for picture in pictures {
      // Of files with one stem, the names decide.
      guard try place(of: picture.asset) != place(of: film) else { return nil }
      leaders.insert(try connection.ownMember(picture.asset)?.leader ?? picture.asset)
    }
    guard leaders.count == 1, let leader = leaders.first,
      // A shot has one film.
      try !connection.hasRow(
        """
        SELECT 1 FROM member INDEXED BY member_leader
        WHERE leader = ? AND role = 'movie' AND link IS NULL
        """, leader)
    else { return nil }
    return Link(leader: leader, film: film)
  }

  /// Puts a film into the group of a picture.
  private func connect(_ link: Link, by value: [UInt8]) throws(CatalogError) {
    let own = try [connection.ownMember(link.leader), connection.ownMember(link.film)]
    let parts = Set(own.flatMap { $0?.kinds ?? [] } + [.livePhoto])
    let kinds = GroupMember.text(of: GroupKind.allCases.filter { parts.contains($0) })
    for (asset, role) in [(link.leader, "primary"), (link.film, "movie")] {
      if try connection.ownMember(asset) == nil {
        try connection.execute(
          """
          INSERT INTO member (asset, leader, kinds, role, link, own_leader, own_kinds)
          VALUES (?1, ?2, ?3, ?4, ?5, ?1, '')
          """, asset, link.leader, kinds, role, SQLValue.blob(value))
      } else {
        try connection.execute(
          """
          UPDATE member SET leader = ?2, kinds = ?3, role = iif(asset = ?1, ?4, role), link = ?5,
            own_leader = leader, own_kinds = kinds
          WHERE leader = ?1 AND link IS NULL
          """, asset, link.leader, kinds, role, SQLValue.blob(value))
      }
    }
  }
}
