package import PipelineModel
package import Records

extension Catalog {
  /// Applies a policy; `configure` then forms the groups of all assets anew if it is another one.
  package func configureGroups(_ policy: GroupPolicy) throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      guard writer.groupPolicy != policy else { return }
      try writer.transaction { () throws(CatalogError) in
        try writer.connection.execute(Setting.write, Setting.groupPolicy, policy.text)
        try writer.connection.execute(Setting.write, Setting.groupProgress, "")
        try writer.renewGeneration()
      }
      // Only after the commit, which may fail.
      writer.groupPolicy = policy
    }
  }
}

extension GroupPolicy {
  /// The policy that a catalog's groups follow, or are about to.
  static func read(_ connection: Connection) throws(CatalogError) -> GroupPolicy {
    try connection.first(Setting.read, Setting.groupPolicy) { GroupPolicy(text: $0.text(0)) }
      ?? .standard
  }
}

/// Keeping the groups. Whatever changes an asset marks it, and the transaction's end forms the groups of
/// the files with the same name stem anew, so the work depends on their names alone.
extension CatalogWriter {
  /// Mark assets whose groups may change. Temporary triggers, so that no statement can forget it.
  static let groupTriggers = """
    CREATE TEMP TRIGGER group_facts AFTER UPDATE OF facts ON main.ledger BEGIN
        INSERT OR IGNORE INTO regrouped SELECT job.asset FROM job JOIN stage ON stage.id = job.stage
          WHERE job.ledger = NEW.id AND \(describes);
        INSERT OR IGNORE INTO regrouped SELECT job.asset FROM job JOIN stage ON stage.id = job.stage
          WHERE job.previous_ledger = NEW.id AND \(describes);
      END;
    CREATE TEMP TRIGGER group_job AFTER UPDATE OF ledger, previous_ledger ON main.job
      WHEN EXISTS (SELECT 1 FROM stage WHERE id = NEW.stage AND \(describes)) BEGIN
        \(mark("NEW.asset", in: "regrouped"))
      END;
    CREATE TEMP TRIGGER group_end AFTER UPDATE OF state ON main.ledger
      WHEN OLD.state IN (\(unfinished)) <> (NEW.state IN (\(unfinished))) AND NEW.facts IS NULL BEGIN
        INSERT OR IGNORE INTO regrouped SELECT job.asset FROM job JOIN stage ON stage.id = job.stage
          WHERE job.ledger = NEW.id AND \(describes);
      END;
    CREATE TEMP TRIGGER group_trash AFTER UPDATE OF trashed_at ON main.asset BEGIN
        \(mark("NEW.id", in: "regrouped"))
      END;
    CREATE TEMP TRIGGER group_version AFTER UPDATE OF supersedes ON main.asset BEGIN
        \(mark("NEW.id", in: "regrouped"))
      END;
    """

  /// The states of a job that may still find something out.
  private static let unfinished = "'waiting', 'ready', 'running'"

  func regroup(_ asset: AssetID) throws(CatalogError) {
    try connection.execute(
      "INSERT INTO temp.regrouped (asset) VALUES (?) ON CONFLICT DO NOTHING", asset)
  }

  /// Marks a range of assets.
  func regroup(after first: SQLValue, through last: SQLValue) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.regrouped (asset) SELECT id FROM asset WHERE id > ? AND id <= ?
      ON CONFLICT DO NOTHING
      """, first, last)
  }

  /// Marks what depends on an asset that is about to be deleted: the members of its group and its burst,
  /// one of the files that it may have kept apart or together, the version that it replaces, and
  /// the rows of those that it describes as a sidecar.
  func regroupCompanions(of asset: AssetID) throws(CatalogError) {
    _ = try outdateDescribed(by: asset)
    try markSigns(of: asset)
    try unlinkGroup(of: asset)
    try connection.execute(
      """
      INSERT INTO temp.regrouped (asset)
        SELECT asset FROM member INDEXED BY member_leader
          WHERE leader = (SELECT leader FROM member WHERE asset = ?1) AND asset <> ?1
        UNION SELECT asset FROM frame INDEXED BY frame_cover
          WHERE cover = (SELECT cover FROM frame WHERE asset = ?1) AND asset <> ?1
        UNION SELECT supersedes FROM asset WHERE id = ?1 AND supersedes IS NOT NULL
      ON CONFLICT DO NOTHING
      """, asset)
    guard let place = try place(of: asset) else { return }
    let other = try companions(at: place).first { $0.id != asset }
    if let other { try regroup(other.id) }
    try regroupNeighbors(of: place)
  }

  /// Forms the groups of the marked assets anew and clears the marks.
  ///
  /// - Returns: whether this outdated rows for searches.
  func updateMarkedGroups() throws(CatalogError) -> Bool {
    var hasOutdated = false
    var all: Set<AssetID> = []
    let limit = Self.configurationPage
    while true {
      let page = try connection.all("SELECT asset FROM temp.regrouped LIMIT \(limit)") {
        (row) throws(CatalogError) in try row.assetID(0)
      }
      var marked: [Place: Set<AssetID>] = [:]
      for asset in page {
        if let place = try place(of: asset) { marked[place, default: []].insert(asset) }
      }
      for (place, assets) in marked {
        if try formGroups(at: place, marked: assets) { hasOutdated = true }
      }
      for asset in page {
        if try outdateDescribed(by: asset) { hasOutdated = true }
        try markSigns(of: asset)
      }
      if !page.isEmpty, try keepsSequences() { all.formUnion(page) }
      if page.count < limit {
        if !page.isEmpty { try connection.execute("DELETE FROM temp.regrouped") }
        try updateMarkedSigns()
        try updateSequences(of: all)
        return hasOutdated
      }
      for asset in page {
        try connection.execute("DELETE FROM temp.regrouped WHERE asset = ?", asset)
      }
    }
  }

  /// Forms the groups of the next assets in the caller's transaction.
  ///
  /// - Returns: whether more may follow.
  func formNextGroups() throws(CatalogError) -> Bool {
    guard let last = try connection.first(Setting.read, Setting.groupProgress, read: { $0.text(0) })
    else { return false }
    guard let end = try lastKey("asset", "id", after: last) else {
      try connection.execute("DELETE FROM setting WHERE key = ?", Setting.groupProgress)
      return false
    }
    try regroup(after: Self.blob(last), through: Self.blob(end))
    try connection.execute(Setting.write, Setting.groupProgress, end)
    return true
  }

  // MARK: - Files with one stem

  /// Where files lie that may belong together: a source, and the stem of their paths.
  struct Place: Hashable {
    var source: Int64
    var stem: NameStem
  }

  func place(of asset: AssetID) throws(CatalogError) -> Place? {
    try connection.first("SELECT source, path FROM asset WHERE id = ?", asset) {
      Place(source: $0.int64(0), stem: NameStem(of: $0.path(1)))
    }
  }

  /// The most records of one path that are looked at, the newest: most are former versions.
  private static let mostVersions = 200
  /// The most files with one stem that are looked at.
  private static let mostCompanions = 1_000

  /// The files with a stem that are neither in the trash nor replaced by another version.
  ///
  /// A seek for each path that begins with the stem, however many versions it had.
  func companions(at place: Place) throws(CatalogError) -> [Companion] {
    let range = place.stem.extended
    var found: [Companion] = []
    var next: BytePath? = BytePath(bytes: place.stem.path)
    var last = range.from
    while let path = next, found.count < Self.mostCompanions {
      if NameStem(of: path) == place.stem {
        found += try connection.all(
          """
          SELECT id FROM (
            SELECT id, trashed_at FROM asset INDEXED BY asset_origin WHERE source = ? AND path = ?
            ORDER BY id DESC LIMIT \(Self.mostVersions)) AS record
          WHERE trashed_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM asset AS newer INDEXED BY asset_supersedes
            WHERE newer.supersedes = record.id AND newer.trashed_at IS NULL)
          """, place.source, path
        ) { (row) throws(CatalogError) in
          Companion(id: try row.assetID(0), isSidecar: NameStem.isSidecar(path))
        }
      }
      next = try connection.first(
        """
        SELECT path FROM asset INDEXED BY asset_origin
        WHERE source = ? AND path > ? AND path < ? ORDER BY path LIMIT 1
        """, place.source, SQLValue.blob(last), SQLValue.blob(range.to)
      ) { $0.path(0) }
      if let next { last = next.bytes }
    }
    return found
  }

  /// One of the assets whose paths have a stem.
  struct Companion {
    var id: AssetID
    /// Whether its name is that of a sidecar.
    var isSidecar: Bool
  }

  /// Forms the groups of the files with one stem.
  ///
  /// Of too many, none is in a group, so only those are looked at that are marked or were in one.
  ///
  /// - Parameter marked: the assets with the stem that changed.
  /// - Returns: whether another sidecar counts for one of them now.
  private func formGroups(
    at place: Place, marked: Set<AssetID>
  ) throws(CatalogError) -> Bool {
    var settled: [Companion] = []
    for companion in try companions(at: place) where try !awaitsDescription(companion.id) {
      settled.append(companion)
    }
    let isTooMany = settled.count > GroupFormation.mostFiles
    let former = try members(marked.union(settled.map(\.id)))
    let concerned = Set(
      former.keys.filter { asset in
        if !isTooMany || marked.contains(asset) { return true }
        guard let member = former[asset] ?? nil else { return false }
        return member.role != .orphan
      })
    var candidates: [GroupCandidate] = []
    for companion in settled where concerned.contains(companion.id) {
      // Nothing decides about one file alone; of too many, only the sidecars are told of.
      guard companion.isSidecar || !isTooMany && settled.count > 1 else { continue }
      if let candidate = try candidate(companion.id) { candidates.append(candidate) }
    }
    let formation = GroupFormation(of: candidates, groupPolicy, isTooMany: isTooMany)
    var (hasChanged, hasOutdated) = (false, false)
    for asset in concerned {
      let (old, new) = (former[asset] ?? nil, formation.members[asset])
      if old == new { continue }
      hasChanged = true
      try unlinkGroup(of: asset)
      if let leader = new?.leader { try unlinkGroup(of: leader) }
      if let new, old != nil {
        try connection.execute(
          "UPDATE member SET leader = ?2, kinds = ?3, role = ?4, sidecar = ?5 WHERE asset = ?1",
          asset, new.leader, new.kindsText, new.role.rawValue, new.sidecar)
      } else if let new {
        try connection.execute(
          "INSERT INTO member (asset, leader, kinds, role, sidecar) VALUES (?, ?, ?, ?, ?)",
          asset, new.leader, new.kindsText, new.role.rawValue, new.sidecar)
      } else {
        try connection.execute("DELETE FROM member WHERE asset = ?", asset)
      }
      if old?.sidecar != new?.sidecar {
        try outdatePicture(of: asset)
        hasOutdated = true
      }
    }
    // What joins these files to others is decided anew.
    if hasChanged { for asset in concerned { try markSigns(of: asset) } }
    return hasOutdated
  }

  /// The places of some assets in the groups of their names, and those of the other members; `nil` for
  /// one that has none.
  private func members(
    _ assets: Set<AssetID>
  ) throws(CatalogError) -> [AssetID: GroupMember?] {
    var members: [AssetID: GroupMember?] = [:]
    for asset in assets { members[asset] = .some(try connection.ownMember(asset)) }
    let leaders = Set(members.values.compactMap { $0?.leader })
    for leader in leaders {
      // A link may have put the whole group into another one.
      let others = try connection.all(
        """
        SELECT asset FROM member INDEXED BY member_leader
        WHERE leader = ifnull((SELECT leader FROM member WHERE asset = ?1), ?1)
        """, leader
      ) { (row) throws(CatalogError) in try row.assetID(0) }
      for asset in others where members[asset] == nil {
        let member = try connection.ownMember(asset)
        if member?.leader == leader { members[asset] = .some(member) }
      }
    }
    return members
  }

  /// Whether a stage that describes an asset is still to run for the first time.
  private func awaitsDescription(_ asset: AssetID) throws(CatalogError) -> Bool {
    try connection.hasRow("SELECT 1 \(Self.awaitingJobs(of: "?"))", asset)
  }

  /// SQL: the jobs of an asset by which more may become known of it for the first time.
  static func awaitingJobs(of asset: String) -> String {
    """
    FROM job
      CROSS JOIN stage ON stage.id = job.stage AND stage.\(describes)
      CROSS JOIN ledger ON ledger.id = job.ledger
    WHERE job.asset = \(asset) AND job.previous_ledger IS NULL AND ledger.state IN (\(unfinished))
    """
  }

  /// What decides about an asset's group; `nil` if nobody knows what it is.
  private func candidate(_ asset: AssetID) throws(CatalogError) -> GroupCandidate? {
    try connection.first(AssetQuery.descriptions + " AND asset.id = ?", asset) {
      (row) throws(CatalogError) in
      GroupCandidate(asset, name: row.path(3), try row.assetValues())
    } ?? nil
  }

  /// Outdates the rows of the files that a sidecar counts for.
  private func outdateDescribed(by sidecar: AssetID) throws(CatalogError) -> Bool {
    try connection.changes(
      """
      INSERT INTO temp.outdated (asset) SELECT asset FROM member WHERE sidecar = ?
      ON CONFLICT DO NOTHING
      """, sidecar) > 0
  }
}

extension Connection {
  /// An asset's place in the group that its name gives it, without links; `nil` if it is in none.
  func ownMember(_ asset: AssetID) throws(CatalogError) -> GroupMember? {
    try first(
      """
      SELECT ifnull(own_leader, leader), ifnull(own_kinds, kinds),
        iif(own_leader = asset, 'primary', role), sidecar
      FROM member WHERE asset = ? AND own_kinds IS NOT ''
      """, asset
    ) { (row) throws(CatalogError) in
      GroupMember(
        leader: try row.assetID(0), kinds: GroupMember.kinds(row.text(1)),
        role: try row.value(2, as: GroupMember.Role.self), sidecar: try row.optionalAssetID(3))
    }
  }
}
