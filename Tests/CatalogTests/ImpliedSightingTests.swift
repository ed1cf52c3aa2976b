import PipelineModel
import Records
import Testing

@testable import Catalog

/// Sightings without a row: what the newest asset from a path says of it.
@Suite("Implied sightings", .onEachDatabase, .timeLimit(.minutes(5)))
struct ImpliedSightingTests {
  /// What the import records of a file that was moved.
  private func moved(_ asset: NewAsset) -> Sighting {
    Sighting(
      source: asset.source, path: asset.path, state: .imported, asset: asset.id,
      seenAt: asset.importedAt)
  }

  /// The n-th asset, from a path that may be another one's too.
  private func asset(_ number: Int, from path: BytePath? = nil) -> NewAsset {
    var asset = Samples.asset(number)
    asset.path = path ?? asset.path
    return asset
  }

  private func addAssets(_ assets: [NewAsset], in library: Library) throws {
    try library.catalog.apply(
      assets.map { .asset($0) } + assets.map { .sighting(moved($0)) }, manifestPosition: 1)
  }

  private func rows(_ library: Library) throws -> Int {
    try library.count("SELECT count(*) FROM sighting")
  }

  @Test("A moved file has no row, and whoever asks for its path is told the same as with one")
  func readers() throws {
    let library = try Library()
    let asset = asset(1)
    let expected = moved(asset)
    try addAssets([asset], in: library)
    #expect(try rows(library) == 0)
    #expect(try library.catalog.sighting(source: asset.source, path: asset.path) == expected)
    #expect(try library.catalog.sighting(source: asset.source, path: "a") == nil)
    #expect(try library.catalog.sighting(source: "/other", path: asset.path) == nil)
    try library.read { reader throws in
      let read = try reader.read { (connection) throws(CatalogError) in
        try connection.sighting(source: asset.source, path: asset.path)
      }
      #expect(read == expected)
      #expect(try reader.sightings(path: asset.source.appending(asset.path)) == [expected])
      #expect(try reader.sightings(of: asset.id) == [expected])
      #expect(try reader.status().sightings == [.imported: 1])
      #expect(try reader.status().pathsOnDisk.isEmpty)
      let cursor = try reader.sightings(of: asset.source)
      #expect(try cursor.next() == nil)
      #expect(try cursor.impliedSighting(asset.path) == expected)
      #expect(try cursor.impliedSighting("a") == nil)
    }
    let view = "FROM sightings WHERE raw_path = x'\(Hexadecimal.encode(asset.path.bytes))'"
    #expect(
      try library.count(
        "SELECT count(*) \(view) AND state = 'imported' AND asset = '\(asset.id)' AND inode IS NULL"
      )
        == 1)
  }

  /// Changes that make a sighting say something else than its asset does.
  static let differences: [@Sendable (inout Sighting) -> Void] =
    Sighting.State.allCases.filter { $0 != .imported }.map { state in { $0.state = state } } + [
      { $0.identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1) },
      { $0.asset = nil }, { $0.asset = Samples.id(2) }, { $0.reason = "Why." },
      { $0.awaitsRemoval = true }, { $0.seenAt = $0.seenAt.adding(seconds: 1) },
      { $0.path = "elsewhere" },
    ]

  @Test("A sighting that says anything else keeps its row", arguments: differences.indices)
  func kept(index: Int) throws {
    let library = try Library()
    let one = asset(1)
    try addAssets([one, asset(2)], in: library)
    var sighting = moved(one)
    Self.differences[index](&sighting)
    try library.catalog.apply([.sighting(sighting)], manifestPosition: 2)
    #expect(try rows(library) == 1)
    #expect(
      try library.catalog.sighting(source: sighting.source, path: sighting.path) == sighting)
    // Nor does a search for what older versions left find it.
    try pretendOlderVersion(library)
    #expect(try !library.catalog.removeImpliedSightings(among: 9))
    #expect(try rows(library) == 1)
    // As before, once the path is again as its asset says.
    try library.catalog.apply([.sighting(moved(one))], manifestPosition: 3)
    #expect(try rows(library) == (sighting.path == one.path ? 0 : 1))
    #expect(try library.catalog.sighting(source: one.source, path: one.path) == moved(one))
  }

  @Test("A row goes with the removal that its path awaited")
  func removal() throws {
    let library = try Library()
    let asset = asset(1)
    var sighting = moved(asset)
    sighting.identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
    sighting.awaitsRemoval = true
    try library.catalog.apply([.asset(asset), .sighting(sighting)], manifestPosition: 1)
    #expect(try rows(library) == 1)
    try library.catalog.apply(
      [.sourceRemoved(source: asset.source, path: asset.path)], manifestPosition: 2)
    #expect(try rows(library) == 0)
    #expect(
      try library.catalog.sighting(source: asset.source, path: asset.path) == moved(asset))
  }

  @Test("Of several assets from one path the newest counts, in the trash or not")
  func newest() throws {
    let library = try Library()
    let assets = [asset(1, from: "same"), asset(2, from: "same"), asset(3)]
    for asset in assets { try addAssets([asset], in: library) }
    let newest = moved(assets[1])
    try library.catalog.apply(
      [.trashed(assets[1].id, at: Samples.start)], manifestPosition: 2)
    #expect(try rows(library) == 0)
    #expect(try library.catalog.sighting(source: Samples.source, path: "same") == newest)
    try library.read { reader throws in
      #expect(try reader.sightings(of: assets[0].id).isEmpty)
      #expect(try reader.sightings(of: assets[1].id) == [newest])
      #expect(try reader.status().sightings == [.imported: 2])
    }
    #expect(try library.count("SELECT count(*) FROM sightings") == 2)
    // A path with a row, from which an asset came, counts once.
    var back = newest
    back.identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
    try library.catalog.apply([.sighting(back)], manifestPosition: 3)
    #expect(try library.read { try $0.status().sightings } == [.imported: 2])
    #expect(try library.count("SELECT count(*) FROM sightings") == 2)
  }

  @Test("A path stays settled when the asset that spoke for it is deleted for good")
  func purged() throws {
    let library = try Library()
    let assets = [asset(1, from: "same"), asset(2, from: "same")]
    for asset in assets { try addAssets([asset], in: library) }
    var settled = moved(assets[1])
    settled.asset = nil
    settled.reason = "Its asset was deleted for good."
    try library.catalog.apply([.purged(assets[1].id, sequence: 2)], manifestPosition: 2)
    #expect(try library.catalog.sighting(source: Samples.source, path: "same") == settled)
    // An older one has no word in it.
    try library.catalog.apply([.purged(assets[0].id, sequence: 3)], manifestPosition: 3)
    #expect(try library.catalog.sighting(source: Samples.source, path: "same") == settled)
    #expect(try rows(library) == 1)
    #expect(try library.integrity() == "ok")
  }

  @Test("A path is returned when its asset is, and a path elsewhere leaves it settled")
  func returned() throws {
    for place in ["a", "b"] as [BytePath] {
      let library = try Library()
      let asset = asset(1, from: "a")
      try addAssets([asset], in: library)
      let back = Sighting(
        source: asset.source, path: place, state: .returned, seenAt: Samples.start)
      try library.catalog.apply([.returned(asset.id, back, sequence: 2)], manifestPosition: 2)
      #expect(try library.catalog.sighting(source: asset.source, path: place) == back)
      let state = try library.catalog.sighting(source: asset.source, path: "a")?.state
      #expect(state == (place == "a" ? .returned : .imported))
    }
  }

  // MARK: What older versions left

  /// Gives each asset the row that older versions kept of it.
  private func leaveRows(_ library: Library) throws {
    try library.execute(
      """
      INSERT INTO sighting (source, path, state, asset, seen_at)
      SELECT source, path, 'imported', id, imported_at FROM asset
      """)
    try pretendOlderVersion(library)
  }

  private func pretendOlderVersion(_ library: Library) throws {
    try library.execute(
      """
      INSERT INTO setting (key, value) VALUES ('\(Setting.impliedSightings)', '')
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """)
  }

  @Test("Rows that older versions kept are removed bit by bit, the others stay", .onlySQLite)
  func leftRows() throws {
    let library = try Library()
    try library.add((1...100).map { Samples.asset($0) })
    try leaveRows(library)
    let other = Sighting(
      source: "/other", path: BytePath(bytes: [0xFF, 0]), state: .ignored, reason: "a rule",
      seenAt: Samples.start)
    var gone = moved(asset(50))
    gone.state = .gone
    try library.catalog.apply([.sighting(other), .sighting(gone)], manifestPosition: 2)
    let before = try library.count("SELECT count(*) FROM sightings")
    var steps = 0
    while try library.catalog.removeImpliedSightings(among: 10) {
      steps += 1
      #expect(try rows(library) == 101 - 10 * steps + (steps > 4 ? 1 : 0))
      try library.reopen()
    }
    #expect(steps == 10)
    #expect(try rows(library) == 2)
    #expect(try library.count("SELECT count(*) FROM sightings") == before)
    #expect(try library.catalog.sighting(source: other.source, path: other.path) == other)
    #expect(try library.catalog.sighting(source: gone.source, path: gone.path) == gone)
    // Nothing is looked at again.
    try library.execute(
      "INSERT INTO sighting (source, path, state, asset, seen_at) "
        + "SELECT source, path, 'imported', id, imported_at FROM asset LIMIT 1")
    #expect(try !library.catalog.removeImpliedSightings(among: 10))
    #expect(try rows(library) == 3)
  }

  @Test(
    "A catalog of version 3 gets the index, and is searched where it has rows", .onlySQLite,
    arguments: [true, false])
  func migration(hasRows: Bool) throws {
    let library = try Library()
    let asset = asset(1)
    try library.add([asset])
    if hasRows { try leaveRows(library) }
    // As version 3 had it.
    try library.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(
        """
        DROP INDEX asset_origin;
        CREATE INDEX asset_source ON asset (source);
        DROP VIEW failures;
        DROP VIEW jobs;
        ALTER TABLE stage DROP COLUMN held;
        ALTER TABLE sighting DROP COLUMN run;
        DROP TABLE frame;
        DROP TABLE sign;
        DROP TABLE member;
        DROP TABLE annotation;
        DROP TABLE album;
        DROP TABLE revision;
        DROP TABLE epoch;
        DROP TABLE counter;
        DROP INDEX run_ended;
        DROP TABLE keyword;
        DROP TABLE picture;
        DROP TABLE term;
        DROP INDEX rendition_damaged;
        DELETE FROM setting WHERE key IN ('\(Setting.impliedSightings)', '\(Setting.pictures)',
          '\(Setting.counters)');
        PRAGMA user_version = 3
        """)
    }
    try library.reopen()
    #expect(try library.count("PRAGMA user_version") == Schema.version)
    let indexes = "SELECT count(*) FROM sqlite_schema WHERE name ="
    #expect(try library.count("\(indexes) 'asset_origin'") == 1)
    #expect(try library.count("\(indexes) 'asset_source'") == 0)
    let searched = "SELECT count(*) FROM setting WHERE key = '\(Setting.impliedSightings)'"
    #expect(try library.count(searched) == (hasRows ? 1 : 0))
    #expect(try !library.catalog.removeImpliedSightings(among: 10))
    #expect(try library.count(searched) == 0)
    #expect(try rows(library) == 0)
    #expect(
      try library.catalog.sighting(source: asset.source, path: asset.path) == moved(asset))
    #expect(try library.integrity(isPrepared: false) == "ok")
  }
}
