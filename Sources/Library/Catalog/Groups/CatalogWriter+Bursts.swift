import PipelineModel
import Records

/// Keeping the bursts.
extension CatalogWriter {
  /// Forms the bursts of the marked signs anew.
  func updateBursts() throws(CatalogError) {
    for value in try markedSigns(.burst) {
      let former = try connection.all(
        "SELECT asset, cover FROM frame INDEXED BY frame_sign WHERE sign = ?", SQLValue.blob(value)
      ) { (row) throws(CatalogError) in (try row.assetID(0), try row.assetID(1)) }
      let (frames, least) = try frames(with: value)
      let cover =
        groupPolicy[.burst] == nil ? nil : BurstFormation.cover(of: frames, least: least)
      try write(frames.map(\.id), cover: cover, sign: value, former: former)
    }
  }

  /// Writes the frames of a burst.
  ///
  /// - Parameters:
  ///   - cover: `nil` if there is no burst.
  ///   - former: the frames as they are, with their covers.
  func write(
    _ frames: [AssetID], cover: AssetID?, sign: [UInt8]?, former: [(AssetID, AssetID)]
  ) throws(CatalogError) {
    let covers = Dictionary(former, uniquingKeysWith: { $1 })
    let kept = Set(cover == nil ? [] : frames)
    for (asset, _) in former where !kept.contains(asset) {
      try connection.execute("DELETE FROM frame WHERE asset = ?", asset)
    }
    guard let cover else { return }
    for asset in frames where covers[asset] != cover {
      try connection.execute("DELETE FROM frame WHERE asset = ?", asset)
      try connection.execute(
        "INSERT INTO frame (asset, cover, sign) VALUES (?, ?, ?)", asset, cover,
        sign.map { SQLValue.blob($0) } ?? .null)
    }
  }

  /// The shots with a sign, and how few of them may be a burst; none if more files have the sign than are
  /// looked at, or a shot has two.
  private func frames(
    with value: [UInt8]
  ) throws(CatalogError) -> (frames: [BurstFrame], least: Int) {
    var count = 0
    var least = 2
    var frames: [AssetID: BurstFrame] = [:]
    try connection.each(
      """
      SELECT ifnull(member.leader, record.asset) AS shot, record.cover, record.frames,
        record.taken, record.camera, \(Self.counts("record.asset")),
        (SELECT path FROM asset WHERE asset.id = record.asset),
        EXISTS (SELECT 1 FROM member AS other INDEXED BY member_leader
          CROSS JOIN sign ON sign.asset = other.asset AND sign.kind = 'burst'
          WHERE other.leader = member.leader AND sign.value <> ?1)
      FROM (SELECT asset, cover, frames, taken, camera FROM sign INDEXED BY sign_value
          WHERE kind = 'burst' AND value = ?1 LIMIT \(BurstFormation.mostFiles + 1)) AS record
        LEFT JOIN member ON member.asset = record.asset
      """, SQLValue.blob(value)
    ) { (row) throws(CatalogError) in
      count += 1
      guard row.bool(5), !row.bool(7) else { return }
      let id = try row.assetID(0)
      var frame = frames[id] ?? BurstFrame(id: id, path: row.path(6))
      frame.path = min(frame.path, row.path(6))
      frame.isCover = frame.isCover || row.bool(1)
      if let taken = row.optional(3, row.int64) { frame.taken = min(frame.taken ?? taken, taken) }
      if let camera = row.optional(4, row.text) { frame.cameras.insert(camera) }
      frames[id] = frame
      least = max(least, row.int(2))
    }
    guard count <= BurstFormation.mostFiles else { return ([], least) }
    return (Array(frames.values), least)
  }
}
