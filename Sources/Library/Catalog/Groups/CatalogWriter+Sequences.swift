import PipelineModel
import Records

/// Keeping the bursts that nothing but times and numbers join, if the policy wants any.
///
/// Such a burst is a chain of shots with consecutive numbers, each a moment after the one before. A shot
/// that changes can lengthen, join or divide the chains beside it, so these are formed anew.
extension CatalogWriter {
  /// The most shots in a chain; a longer one, such as a time lapse, is no burst.
  static let mostShots = 200
  /// The fewest shots in a chain that is a burst.
  private static let leastShots = 3

  /// A shot in a chain, by its primary.
  private struct Shot {
    var id: AssetID
    var taken: Int64
    var camera: String
  }

  /// Whether there may be chains.
  func keepsSequences() throws(CatalogError) -> Bool {
    if let distance = groupPolicy[.burst], distance > 0 { return true }
    return try connection.hasRow(
      "SELECT 1 FROM frame INDEXED BY frame_unsigned WHERE sign IS NULL LIMIT 1")
  }

  /// Marks a shot before and one behind a place whose last file is about to go: without it, a chain that was too
  /// long may be two bursts.
  func regroupNeighbors(of place: Place) throws(CatalogError) {
    guard let distance = groupPolicy[.burst], distance > 0, let number = NumberedStem(place.stem)
    else { return }
    for offset in [-1, 1] {
      guard let stem = number.stem(offset) else { continue }
      let neighbor = try companions(at: Place(source: place.source, stem: stem)).first
      if let neighbor { try regroup(neighbor.id) }
    }
  }

  /// Forms the chains at and beside the places of some assets anew.
  func updateSequences(of assets: Set<AssetID>) throws(CatalogError) {
    var places: Set<Place> = []
    var stale = try unsigned(assets)
    for asset in assets {
      if let place = try place(of: asset) { places.insert(place) }
    }
    for place in places { stale.merge(try unsigned(companions(at: place).map(\.id))) { $1 } }
    var chains: [[Shot]] = []
    var walk = Walk(distance: groupPolicy[.burst] ?? 0)
    for place in places {
      guard walk.distance > 0, let number = NumberedStem(place.stem) else { continue }
      for offset in -1...1 {
        guard let stem = number.stem(offset) else { continue }
        let start = Place(source: place.source, stem: stem)
        guard !walk.visited.contains(start) else { continue }
        let chain = try chain(at: start, &walk)
        if !chain.isEmpty { chains.append(chain) }
      }
    }
    // One after the other, so that a shot that goes from one chain to another is not lost.
    for shot in chains.joined() { stale.merge(try unsigned([shot.id])) { $1 } }
    // Frames of a former burst may lie behind the end of a walk.
    for cover in Set(stale.values) { stale.merge(try unsigned(coveredBy: cover)) { $1 } }
    let bursts = chains.filter { (Self.leastShots...Self.mostShots).contains($0.count) }
    let kept = Set(bursts.joined().map(\.id))
    for asset in stale.keys where !kept.contains(asset) {
      try connection.execute("DELETE FROM frame WHERE asset = ?", asset)
    }
    for burst in bursts {
      let former = burst.compactMap { shot in stale[shot.id].map { (shot.id, $0) } }
      try write(burst.map(\.id), cover: burst[0].id, sign: nil, former: former)
    }
  }

  /// The covers of those of some assets that are in a chain.
  private func unsigned(
    _ assets: some Sequence<AssetID>
  ) throws(CatalogError) -> [AssetID: AssetID] {
    var covers: [AssetID: AssetID] = [:]
    for asset in assets {
      covers[asset] = try connection.first(
        "SELECT cover FROM frame WHERE asset = ? AND sign IS NULL", asset
      ) { (row) throws(CatalogError) in try row.assetID(0) }
    }
    return covers
  }

  /// The frames of a chain, with its cover.
  private func unsigned(coveredBy cover: AssetID) throws(CatalogError) -> [AssetID: AssetID] {
    let frames = try connection.all(
      "SELECT asset FROM frame INDEXED BY frame_cover WHERE cover = ? AND sign IS NULL", cover
    ) { (row) throws(CatalogError) in try row.assetID(0) }
    return Dictionary(frames.map { ($0, cover) }, uniquingKeysWith: { $1 })
  }

  // MARK: - Walking

  /// What was found on the way.
  private struct Walk {
    /// How far apart two shots may be, in microseconds.
    let distance: Int64
    /// The places of the chains that were walked.
    var visited: Set<Place> = []
    /// The shot at each place that was looked at.
    var shots: [Place: Shot?] = [:]
  }

  /// The whole chain that a place is in, in order; empty if there is no shot. Of one that is too long,
  /// enough to know that it is.
  private func chain(at place: Place, _ walk: inout Walk) throws(CatalogError) -> [Shot] {
    guard let number = NumberedStem(place.stem), let shot = try shot(at: place, &walk) else {
      return []
    }
    walk.visited.insert(place)
    var chain = [shot]
    for step in [-1, 1] {
      var offset = step
      var last = shot
      while offset.magnitude <= Self.mostShots, let stem = number.stem(offset) {
        let next = Place(source: place.source, stem: stem)
        guard let other = try self.shot(at: next, &walk),
          Self.follow(step > 0 ? [last, other] : [other, last], within: walk.distance)
        else { break }
        walk.visited.insert(next)
        if step > 0 { chain.append(other) } else { chain.insert(other, at: 0) }
        last = other
        offset += step
      }
    }
    return chain
  }

  /// Whether the second of two shots was taken a moment after the first, with the same camera.
  private static func follow(_ shots: [Shot], within distance: Int64) -> Bool {
    let (difference, overflow) = shots[1].taken.subtractingReportingOverflow(shots[0].taken)
    return !overflow && (0...distance).contains(difference) && shots[0].camera == shots[1].camera
  }

  /// The shot at a place; `nil` if there is none, or another one, or it says itself to which burst it belongs.
  private func shot(at place: Place, _ walk: inout Walk) throws(CatalogError) -> Shot? {
    if let known = walk.shots[place] { return known }
    let shot = try readShot(at: place)
    walk.shots[place] = .some(shot)
    return shot
  }

  private func readShot(at place: Place) throws(CatalogError) -> Shot? {
    var leaders: Set<AssetID> = []
    var shot: Shot?
    let companions = try companions(at: place)
    guard companions.count <= GroupFormation.mostFiles else { return nil }
    for companion in companions where !companion.isSidecar {
      let isUsable = try connection.first(
        """
        SELECT ifnull((SELECT leader FROM member WHERE member.asset = picture.asset), picture.asset),
          picture.kind, (SELECT text FROM term WHERE id = picture.type), picture.taken,
          (SELECT folded FROM term WHERE id = picture.camera),
          length(\(AssetQuery.identity) ->> 'capturedAt') > 10,
          EXISTS (SELECT 1 FROM sign WHERE sign.asset = picture.asset AND sign.kind = 'burst'),
          EXISTS (SELECT 1 \(Self.awaitingJobs(of: "picture.asset")))
        FROM picture CROSS JOIN asset ON asset.id = picture.asset WHERE picture.asset = ?
        """, companion.id
      ) { (row) throws(CatalogError) in
        let isPicture =
          row.text(1) == "raw" || ["image/jpeg", "image/heic", "image/heif"].contains(row.text(2))
        guard isPicture, !row.bool(7) else { return true }
        let leader = try row.assetID(0)
        leaders.insert(leader)
        if leader == companion.id, row.bool(5), let taken = row.optional(3, row.int64),
          let camera = row.optional(4, row.text)
        {
          shot = Shot(id: leader, taken: taken, camera: camera)
        }
        return !row.bool(6)
      }
      if isUsable == false { return nil }
    }
    return leaders.count == 1 ? shot : nil
  }
}
