import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Holds every statement that the program really uses to the indexes.
@Suite("Query plans", .timeLimit(.minutes(2)))
struct QueryPlanTests {
  /// Tables that stay small in the largest library, and queries over what was found before.
  private static let small: Set<String> = [
    "stage", "stage_need", "need", "source", "run", "setting", "fingerprint", "runtime",
    "discarded_file", "sqlite_master", "sqlite_schema", "sqlite_sequence", "settled", "switch",
    "later", "touched", "doomed", "newest", "page", "record", "CONSTANT", "changed", "epoch",
    "counter",
    "discarded_bytes", "asked", "ended", "gap", "found",
  ]

  /// Statements that are meant to read all of a table, by how they begin or what is in them.
  private static let readsAll = [
    "SELECT count(*) FROM asset",
    // Counting everything, once.
    "INSERT INTO counter (kind, owner, state, rows, amount) SELECT",
    // `forecast` counts what is due.
    "SELECT iif(?1, (SELECT count(*) FROM asset",
    // Here the plan speaks of a check of keys that is made only while some are violated.
    "INSERT INTO stage (name, plugin, fingerprint",
    // The first entry of an index.
    "SELECT 1 FROM rendition WHERE path IS NULL LIMIT 1",
    // The end of a key: there is no index for that.
    "SELECT id FROM asset INDEXED BY asset_digest WHERE digest IS NOT NULL",
  ]

  @Test("Every statement finds its rows by an index, but for those that are meant to read all")
  func indexes() throws {
    let library = try Library()
    let reader = try CatalogReader.open(at: library.file, immutable: false)
    try useWriter(library)
    try useReader(reader)
    var scans: [String] = []
    try library.catalog.read { (connection) throws(CatalogError) in
      scans += try Self.scans(connection.statements, connection)
    }
    try library.catalog.access.sync { (writer) throws(CatalogError) in
      scans +=
        try writer.renditions?.read { (connection) throws(CatalogError) in
          try Self.scans(connection.statements, connection)
        } ?? ["the database of renditions"]
    }
    try reader.read { (connection) throws(CatalogError) in
      scans += try Self.scans(connection.statements + [SightingCursor.pageQuery], connection)
    }
    #expect(scans.isEmpty, "\(scans.joined(separator: "\n"))")
    try reader.close()
  }

  /// What the plans of some statements read from end to end.
  private static func scans(
    _ statements: [String], _ connection: Connection
  ) throws(CatalogError) -> [String] {
    var scans: [String] = []
    for sql in statements where !sql.hasPrefix("PRAGMA") && !sql.hasPrefix("EXPLAIN") {
      // Of a table that only older catalogs have.
      if sql.contains("rendition_bytes") { continue }
      let line = sql.split { $0.isWhitespace }.joined(separator: " ")
      if readsAll.contains(where: { line.hasPrefix($0) }) { continue }
      let plan = try connection.all("EXPLAIN QUERY PLAN " + sql) { $0.text(3) }
      for step in plan where step.hasPrefix("SCAN ") {
        // No table at all.
        if step == "SCAN CONSTANT ROW" { continue }
        let words = step.split(separator: " ")
        let table = String(words[1])
        // The values of a parameter.
        if step.contains("VIRTUAL TABLE") { continue }
        // Of one transaction, or a query over what was found.
        if table.hasPrefix("temp.") || table.hasPrefix("(") || small.contains(table) { continue }
        // Indexes that have the rows alone that are wanted: what is in the trash, under way, or alone.
        if ["asset_trashed", "attempt_open", "member_orphan", "frame_unsigned"].contains(
          where: step.hasSuffix)
        {
          continue
        }
        scans.append("\(step): \(line)")
      }
    }
    return scans
  }

  // MARK: Using everything

  private func useWriter(_ library: Library) throws {
    let catalog = library.catalog
    let sidecar = Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true)
    try catalog.configure(Samples.stages() + [sidecar])
    try library.add((1...6).map { Samples.asset($0) } + [Samples.asset(7, digest: 1)])
    try catalog.beginRun(RunRecord(id: Samples.id(50), verb: "run", startedAt: .now))
    try catalog.endRun(Samples.id(50), counters: [:], at: .now)
    let identified = try catalog.claim(stage: "identify", limit: 9, suspects: true)
    _ = try catalog.complete(identified.prefix(4).map { Self.done($0, path: nil) })
    _ = try catalog.complete([
      Completion(
        token: identified[4].token,
        outcome: .failed(class: "transient", reason: "Why.", retryAt: .now), seconds: 1)
    ])
    try catalog.requeue([identified[5].token])
    let made = try catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    _ = try catalog.complete(made.map { Self.done($0, path: "renditions/\($0.digest.hex)") })
    _ = try catalog.withdrawn(among: made.map(\.token))
    _ = try catalog.nextDue(after: nil)
    _ = try catalog.backlog()
    try catalog.hold(stage: "thumbnails", because: "No memory.")
    for rendition in try catalog.misplacedRenditions(
      stage: "thumbnails", threshold: .max, place: "renditions", limit: 9
    ).prefix(1) {
      try catalog.relocate(rendition.id, to: .database([1]))
      try catalog.invalidate(rendition: rendition.id)
    }
    _ = try catalog.retry(assets: [Samples.id(1)])
    _ = try catalog.retry(assets: nil)
    let seen = Sighting(
      source: Samples.source, path: "a", state: .duplicate,
      identity: FileIdentity(inode: 1, size: 1, modified: 1, changed: 1), asset: Samples.id(1),
      seenAt: .now)
    try catalog.apply(
      [
        .run(RunRecord(id: Samples.id(51), verb: "run", startedAt: .now)), .sighting(seen),
        .sourceRemoved(source: Samples.source, path: "a"), .trashed(Samples.id(1), at: .now),
        .restored(Samples.id(1)), .purged(Samples.id(2), sequence: 8),
        .returned(Samples.id(3), seen, sequence: 9), .relied(on: Samples.digest(2)),
      ], manifestPosition: 99)
    _ = try catalog.knowsDeletions
    try catalog.addDeletions(
      [.deleted(.init(digest: Samples.digest(2), asset: Samples.id(2), sequence: 8))], isLast: true)
    try catalog.forgetDeletions(of: [Samples.digest(2)])
    // A raw file and its JPEG, whose groups are formed anew.
    try library.add(
      ["g.jpg", "g.raf"].enumerated().map { number, name in
        var asset = Samples.asset(60 + number)
        (asset.name, asset.path) = (BytePath(name), BytePath(name))
        return asset
      })
    for job in try catalog.claim(stage: "identify", limit: 9, suspects: false) {
      let type: JSONValue = job.asset == Samples.id(60) ? "image/jpeg" : "image/x-fuji-raf"
      _ = try catalog.complete([
        Completion(
          token: job.token, outcome: .done(facts: ["mediaType": type], renditions: []), seconds: 1)
      ])
    }
    try catalog.configureGroups(GroupPolicy([]))
    try catalog.configure(Samples.stages() + [sidecar])
    try useSigns(library)
    _ = try catalog.newestAssetID()
    _ = try catalog.assets(with: Samples.digest(1))
    _ = try catalog.hasOriginal(Samples.digest(1))
    _ = try catalog.newestAsset(
      source: Samples.source, path: "a", ifItHas: Samples.digest(1))
    _ = try catalog.sighting(source: Samples.source, path: "a")
    try library.execute("INSERT INTO setting VALUES ('\(Setting.impliedSightings)', '')")
    _ = try catalog.removeImpliedSightings(among: 1)
    _ = try catalog.removeImpliedSightings(among: 9)
    let cursor = try catalog.sightings(of: Samples.source)
    _ = try cursor.impliedSighting("a")
    try catalog.set("a", to: "b")
    _ = try catalog.settings(beginningWith: "a")
    // Other stages in the middle of a backlog, so that there is a former one.
    try catalog.configure(Samples.stages(thumbnails: 22))
    var former = try FormerStages(catalog)
    while try former.dropNext() != nil {}
    _ = try catalog.consumeDiscardedFiles()
    _ = try catalog.removeUnnamedBytes(after: nil, limit: 9)
    try library.execute("INSERT INTO setting VALUES ('\(Setting.lostRenditions)', '')")
    _ = try catalog.remakeLostRenditions()
    _ = try catalog.forgetAttempts(before: Timestamp(microseconds: .max), after: 0)
  }

  private static func done(_ job: ClaimedJob, path: String?) -> Completion {
    Completion(
      token: job.token,
      outcome: .done(facts: [:], renditions: [Samples.rendition("r", path: path)]), seconds: 1)
  }

  /// Bursts by identifiers and by times, and a Live Photo with a sidecar by its identifier, which change.
  private func useSigns(_ library: Library) throws {
    let other = try Library.ofFiles()
    try other.catalog.configureGroups(
      GroupPolicy(GroupKind.allCases.map { GroupRule(kind: $0, within: TimeSpan("1s")) }))
    func file(_ number: Int, _ name: String, _ type: String, _ identifiers: [String]) -> SampleFile
    {
      var file = SampleFile(
        number: number, name: name, type: type, taken: "2024-05-01T12:00:00", camera: "X-T5")
      for key in identifiers { file.metadata[key] = "A" }
      return file
    }
    let jpegs = (1...6).map {
      file($0, "DSC_000\($0).jpg", "image/jpeg", $0 > 3 ? ["burstIdentifier"] : [])
    }
    let film = file(7, "b.mov", "video/quicktime", ["contentIdentifier"])
    try other.take(
      jpegs + [
        film, file(8, "c.jpg", "image/jpeg", ["contentIdentifier"]),
        file(9, "b.xmp", "application/rdf+xml", []),
      ])
    #expect(try other.count("SELECT count(*) FROM frame") == 6)
    #expect(try other.count("SELECT count(*) FROM member WHERE link IS NOT NULL") == 3)
    for number in [2, 4, 7] {
      try other.catalog.apply([.trashed(Samples.id(number), at: .now)], manifestPosition: 0)
    }
    try other.catalog.apply([.purged(Samples.id(5), sequence: 1)], manifestPosition: 0)
    try other.catalog.read { (connection) throws(CatalogError) in
      // Those above count all.
      let statements = connection.statements.filter { !$0.hasPrefix("SELECT count(*) FROM") }
      let scans = try Self.scans(statements, connection)
      #expect(scans.isEmpty, "\(scans.joined(separator: "\n"))")
    }
  }

  private func useReader(_ reader: CatalogReader) throws {
    try reader.assets { _ in }
    try reader.trashedAssets { _ in }
    for withMetadata in [true, false] {
      try reader.assetValues(after: nil, withMetadata: withMetadata) { _, _ in }
    }
    _ = try reader.assetValues(Samples.id(1))
    _ = try reader.assetCount()
    try reader.originals { _, _ in }
    try reader.allRenditions { _ in }
    try reader.renditionFiles(below: "renditions/thumbnails/ab") { _ in }
    _ = try reader.namesRenditionFile("renditions/thumbnails/ab/cd")
    try reader.originals(beginningWith: 1) { _ in }
    _ = try reader.assetDigests { _, _ in }
    let id = Samples.id(1)
    _ = try reader.asset(id)
    _ = try reader.isTrashed(id)
    _ = try reader.foundAssets([id], withRenditions: true)
    _ = try reader.assetIDs(matching: "0", limit: 2)
    _ = try reader.assets(with: Samples.digest(1))
    _ = try reader.run(id)
    _ = try reader.runIDs(matching: "0")
    _ = try reader.lastImportingRun()
    _ = try reader.runWithAssets(before: id)
    _ = try reader.assetCount(of: id)
    _ = try reader.origins(of: id, before: id, limit: 9)
    _ = try reader.trash(limit: 9)
    _ = try reader.deletions(after: 0, limit: 9)
    _ = try reader.hasOriginal(Samples.digest(1))
    _ = try reader.hasDueJobs()
    _ = try reader.formerRenditions()
    _ = try reader.isRenditionDue(owner: Samples.digest(1).bytes, fingerprint: [1])
    _ = try reader.isRenditionDue(owner: id.bytes, fingerprint: [1])
    _ = try reader.isDeleted(Samples.digest(1))
    _ = try reader.relations(ofOrigins: id, from: id, through: id)
    _ = try reader.forecast(Samples.stages()[0])
    _ = try reader.jobs(of: id)
    _ = try reader.attempts(of: id, stage: "identify")
    _ = try reader.failures()
    _ = try reader.failureCount()
    try reader.assetLines { _, _ in }
    _ = try reader.assetLine(of: id)
    _ = try reader.renditionBytes(1)
    _ = try reader.unnamedBytes(after: nil, limit: 9)
    _ = try reader.sightings(of: id)
    _ = try reader.sightings(path: "/pictures/inbox/a")
    _ = try reader.status()
    _ = try reader.metricCounts()
    _ = try reader.lastManifestPosition
    _ = try reader.changes(since: reader.revision)
    _ = try reader.group(of: id)
    _ = try reader.burst(of: id)
    for word in ["is:burst", "is:cover", "group:burst", "is:no-thumbnail"] {
      _ = try reader.find(AssetQuestion(try Filter(query: word, now: .now)))
    }
  }
}
