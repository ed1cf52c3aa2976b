import Fixtures
import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

/// What `status` needs not count, compared with counting everything.
@Suite("Counters", .onEachDatabase, .timeLimit(.minutes(10)))
struct CounterTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  @Test("After each of 600 random changes, the counters are those of a count of everything")
  func random() throws {
    var changes = try RandomChanges(random: SeededRandom(seed: Self.seed))
    var random = SeededRandom(seed: Self.seed + 1)
    let library = changes.library
    for step in 0..<600 {
      let name = "\(try changes.next())"
      // Paths of assets and others, in every state, with and without a file.
      let path = BytePath("a/IMG_\(Int.random(in: 1...20, using: &random)).jpg")
      let state = try #require(Sighting.State.allCases.randomElement(using: &random))
      let identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
      try library.catalog.apply(
        [
          .sighting(
            Sighting(
              source: Samples.source, path: path, state: state,
              identity: Bool.random(using: &random) ? identity : nil, seenAt: .now))
        ], manifestPosition: library.catalog.manifestPosition)
      let wrong = try library.wrongCounters()
      #expect(wrong.isEmpty, "seed \(Self.seed), step \(step), \(name): \(wrong)")
    }
    #expect(try library.count("SELECT count(*) FROM counter WHERE rows > 1") > 5)
  }

  @Test("A change that is rolled back is not counted, and neither is it later")
  func rollBack() throws {
    let library = try Library()
    let before = try library.read { try $0.status() }
    #expect(throws: CatalogError.self) {
      try library.catalog.write { (writer) throws(CatalogError) in
        try writer.connection.execute(
          "INSERT INTO original (digest, size) VALUES (zeroblob(32), 1)")
        throw CatalogError(.database, "Stop.")
      }
    }
    #expect(try library.read { try $0.status() } == before)
    try library.add([Samples.asset(1)])
    #expect(try library.read { try $0.status().originals } == 1)
    #expect(try library.wrongCounters() == [])
  }

  @Test("A catalog of version 8 is counted once, and meanwhile says the same", .onlySQLite)
  func migration() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...5).map { Samples.asset($0) } + [Samples.asset(6, digest: 1)])
    for job in try library.catalog.claim(stage: "identify", limit: 3, suspects: true) {
      _ = try library.catalog.complete([
        Completion(
          token: job.token,
          outcome: .done(facts: [:], renditions: [Samples.rendition("r")]), seconds: 1)
      ])
    }
    try library.catalog.apply([.trashed(Samples.id(2), at: .now)], manifestPosition: 9)
    let status = try library.read { try $0.status() }
    #expect(status.assets == 5 && status.originals == 5 && status.renditions == 3)
    #expect(status.sightings == [.imported: 6])
    for sql in [
      "ALTER TABLE sighting DROP COLUMN run", "DROP TABLE frame", "DROP TABLE sign",
      "DROP TABLE member", "DROP TABLE counter",
      "DROP INDEX run_ended", "PRAGMA user_version = 8",
      "DELETE FROM setting WHERE key = '\(Setting.counters)'",
    ] {
      try library.execute(sql)
    }
    try library.reopen()
    #expect(try library.count("SELECT count(*) FROM counter") == 0)
    // What is changed before everything is counted is counted then.
    try library.catalog.apply([.restored(Samples.id(2))], manifestPosition: 10)
    try library.catalog.apply([.purged(Samples.id(5), sequence: 11)], manifestPosition: 11)
    let uncounted = try library.read { try $0.status() }
    #expect(uncounted.assets == 5 && uncounted.originals == 4)
    try library.catalog.configure(Samples.stages())
    #expect(try library.count("SELECT count(*) FROM counter") > 3)
    #expect(try library.read { try $0.status() } == uncounted)
    #expect(try library.integrity() == "ok")
  }

  @Test("A catalog that is made anew is counted when it is finished")
  func draft() throws {
    let library = try Library()
    let file = BytePath(library.folder.path).appending("draft.sqlite")
    let draft = try Catalog.create(at: file, libraryID: Library.id, isDraft: true)
    try draft.apply([.asset(Samples.asset(1)), .asset(Samples.asset(2))], manifestPosition: 2)
    try draft.finishDraft()
    let connection = try Connection(file, mode: .read)
    #expect(try Counters.areComplete(connection))
    let assets = try connection.first("SELECT rows FROM counter WHERE kind = 'asset'") { $0.int(0) }
    #expect(assets == 2)
    connection.close()
  }
}
