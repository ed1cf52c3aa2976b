import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

/// Which changes are numbered, and who may ask for them.
@Suite("Revisions", .onEachDatabase, .timeLimit(.minutes(5)))
struct RevisionTests {
  private static let sidecar = Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true)

  /// Three assets, of which the first two have the same bytes.
  private func makeLibrary() throws -> Library {
    let library = try Library()
    try library.catalog.configure(Samples.stages() + [Self.sidecar])
    try library.add([Samples.asset(1, digest: 5), Samples.asset(2, digest: 5), Samples.asset(3)])
    return library
  }

  private func done(_ jobs: [ClaimedJob]) -> [Completion] {
    jobs.map { job in
      Completion(
        token: job.token,
        outcome: .done(facts: ["width": 3], renditions: [Samples.rendition("r")]), seconds: 1)
    }
  }

  private func revision(_ library: Library) throws -> Revision {
    try library.read { try $0.revision }
  }

  /// The numbers of the assets that a body changes, those it deletes negative.
  ///
  /// Each must have been given one number.
  private func changes(
    in library: Library, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) throws -> [Int] {
    let before = try revision(library)
    try body()
    return try library.read { reader in
      let (page, last) = (try reader.changes(since: before), try reader.revision)
      #expect(last == page.revision, sourceLocation: location)
      #expect(page.isLast, sourceLocation: location)
      #expect(
        page.revision.number - before.number == page.assets.count, "Some have several numbers.",
        sourceLocation: location)
      return page.assets.map { id, isDeleted in
        let number = (1...9).first { Samples.id($0) == id } ?? 0
        return isDeleted ? -number : number
      }
    }
  }

  @Test("Each change that readers see gives the assets concerned one new number")
  func seen() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    #expect(try changes(in: library) { try library.add([Samples.asset(4)]) } == [4])
    let jobs = try catalog.claim(stage: "identify", limit: 9, suspects: false)
    #expect(jobs.count == 3)
    // Two assets have the bytes of the first job.
    #expect(
      try changes(in: library) { _ = try catalog.complete(done(jobs)) }.sorted() == [1, 2, 3, 4])
    let sidecar = try catalog.claim(stage: "sidecar", limit: 1, suspects: false)
    #expect(try changes(in: library) { _ = try catalog.complete(done(sidecar)) } == [1])
    let made = try catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    let failed = Completion(
      token: made[1].token,
      outcome: .failed(class: "permanent", reason: "Why.", retryAt: nil), seconds: 1)
    #expect(try changes(in: library) { _ = try catalog.complete([failed]) } == [3])
    #expect(
      try changes(in: library) { _ = try catalog.retry(assets: [Samples.id(3)]) } == [3])
    #expect(try changes(in: library) { try catalog.requeue([made[2].token]) } == [4])
    _ = try catalog.complete(done([made[0]]))
    let renditions = try library.read { try $0.asset(Samples.id(1))?.renditions ?? [] }
    let rendition = try #require(renditions.first { $0.stage == "thumbnails" })
    let moved = try changes(in: library) {
      try catalog.relocate(rendition.id, to: .file(path: "renditions/x"))
    }
    #expect(moved == [1, 2])
    #expect(
      try changes(in: library) { try catalog.invalidate(rendition: rendition.id) } == [1, 2])
    func apply(_ change: CatalogChange) throws -> [Int] {
      try changes(in: library) { try catalog.apply([change], manifestPosition: 9) }
    }
    #expect(try apply(.trashed(Samples.id(2), at: .now)) == [2])
    #expect(try apply(.restored(Samples.id(2))) == [2])
    #expect(try apply(.annotated(Samples.id(2), Annotation(.tag, "a"))) == [2])
    #expect(try apply(.annotated(Samples.id(2), Annotation(.tag, "a"))) == [])
    #expect(try apply(.annotated(Samples.id(2), Annotation(.tag, "a", applies: false))) == [2])
    #expect(try apply(.annotated(Samples.id(2), Annotation(.title, "b"))) == [2])
    #expect(try apply(.purged(Samples.id(2))) == [-2])
    let seen = Sighting(source: Samples.source, path: "a", state: .returned, seenAt: .now)
    #expect(try apply(.returned(Samples.id(3), seen)) == [-3])
    // An asset whose predecessor goes says so no more.
    var newer = Samples.asset(5)
    newer.supersedes = Samples.id(4)
    try library.add([newer])
    #expect(Set(try apply(.purged(Samples.id(4)))) == [-4, 5])
    #expect(try library.integrity() == "ok")
  }

  @Test("A change of stages gives numbers to the assets that look otherwise")
  func stages() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    for stage in ["identify", "thumbnails", "sidecar"] {
      _ = try catalog.complete(
        done(try catalog.claim(stage: stage, limit: 9, suspects: false)))
    }
    func configure(_ stages: [StageDefinition]) throws -> [Int] {
      try changes(in: library) { try catalog.configure(stages) }.sorted()
    }
    let all = Samples.stages() + [Self.sidecar]
    #expect(try configure(all) == [])
    var limited = all
    limited[0].limits = "{\"memory\":1}"
    #expect(try configure(limited) == [])
    // One that is gone, comes back, and is another.
    #expect(try configure(Samples.stages()) == [1, 2, 3])
    #expect(try configure(all) == [1, 2, 3])
    #expect(try configure(Samples.stages(thumbnails: 22) + [Self.sidecar]) == [1, 2, 3])
    // A new one.
    let other = Samples.stage("other", fingerprint: 4)
    #expect(try configure(Samples.stages(thumbnails: 22) + [Self.sidecar, other]) == [1, 2, 3])
    #expect(try library.integrity() == "ok")
  }

  @Test("A stage that is held or released gives numbers to the assets that wait for it")
  func held() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    let jobs = try catalog.claim(stage: "identify", limit: 9, suspects: false)
    _ = try catalog.complete(done([jobs[0]]))
    func hold(_ reason: String?) throws -> [Int] {
      try changes(in: library) { try catalog.hold(stage: "thumbnails", because: reason) }.sorted()
    }
    // Two assets share the bytes of the job that is ready; the third waits for `identify`.
    #expect(try hold("No memory.") == [1, 2])
    #expect(try hold("No memory.") == [])
    #expect(try hold("No decoder.") == [1, 2])
    // No job shows yet that the stage can run.
    #expect(
      try changes(in: library) { try catalog.configure(Samples.stages() + [Self.sidecar]) } == [])
    #expect(try library.count("SELECT count(*) FROM stage WHERE held IS NOT NULL") == 1)
    #expect(try hold(nil) == [1, 2])
    #expect(try hold(nil) == [])
    var faulty = Samples.stages() + [Self.sidecar]
    faulty[1].held = "The plugin is gone."
    #expect(try changes(in: library) { try catalog.configure(faulty) }.sorted() == [1, 2])
    #expect(try library.integrity() == "ok")
  }

  @Test("What readers don't see has no number")
  func unseen() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    try catalog.apply([.trashed(Samples.id(2), at: .now)], manifestPosition: 3)
    let made = try changes(in: library) {
      let jobs = try catalog.claim(stage: "identify", limit: 9, suspects: false)
      #expect(!jobs.isEmpty)
      try catalog.hold(stage: "identify", because: "No memory.")
      try catalog.apply(
        [
          .asset(Samples.asset(1, digest: 5)), .trashed(Samples.id(2), at: .now),
          .restored(Samples.id(1)), .purged(Samples.id(9)), .relied(on: Samples.digest(5)),
          .sighting(
            Sighting(source: Samples.source, path: "b", state: .ignored, seenAt: .now)),
        ], manifestPosition: 4)
      try catalog.set("a", to: "b")
      try catalog.beginRun(RunRecord(id: Samples.id(50), verb: "run", startedAt: .now))
      _ = try catalog.retry(assets: nil)
      // A batch that is refused leaves nothing.
      #expect(throws: CatalogError.self) {
        _ = try catalog.complete(done([jobs[0], jobs[0]]))
      }
    }
    #expect(made == [])
    #expect(try library.count("SELECT count(*) FROM temp.changed") == 0)
  }

  @Test("Pages have each asset once, and end where the next ones begin")
  func pages() throws {
    let library = try makeLibrary()
    let start = try revision(library)
    try library.add((4...9).map { Samples.asset($0) })
    try library.catalog.apply([.trashed(Samples.id(5), at: .now)], manifestPosition: 9)
    try library.read { reader in
      var (found, place, sizes): ([AssetID], Revision, [Int]) = ([], start, [])
      while true {
        let page = try reader.changes(since: place, limit: 2)
        found += page.assets.map(\.id)
        sizes.append(page.assets.count)
        #expect(Revision(page.revision.description) == page.revision)
        place = page.revision
        if page.isLast { break }
      }
      #expect(found == [4, 6, 7, 8, 9, 5].map { Samples.id($0) })
      let last = try reader.revision
      #expect(sizes == [2, 2, 2] && place == last)
      #expect(try reader.changes(since: place, limit: 2).assets.isEmpty)
    }
  }

  @Test("A process begins an epoch with its first change, and the numbers go on")
  func epochs() throws {
    let library = try makeLibrary()
    let first = try revision(library)
    try library.reopen()
    #expect(try revision(library) == first)
    try library.add([Samples.asset(4)])
    let second = try revision(library)
    #expect(second.epoch != first.epoch && second.number == first.number + 1)
    let page = try library.read { try $0.changes(since: first) }
    #expect(page.assets.map(\.id) == [Samples.id(4)] && page.revision == second)
    try library.add([Samples.asset(6)])
    #expect(try revision(library).epoch == second.epoch)
    #expect(try library.count("SELECT count(*) FROM epoch") == 3)
  }

  private func refusal(_ revision: Revision, _ library: Library) throws -> CatalogError? {
    try library.read { reader in
      return #expect(throws: CatalogError.self) { _ = try reader.changes(since: revision) }
    }
  }

  @Test(
    "A revision of another catalog, or of one that a copy has replaced, is refused", .onlySQLite)
  func histories() throws {
    let library = try makeLibrary()
    let other = try makeLibrary()
    let foreign = try revision(other)
    let error = try refusal(foreign, library)
    #expect(error?.code == .unknownRevision)
    #expect(error?.message.contains("List everything again.") == true)
    let shared = try revision(library)
    try library.close()
    let file = URL(filePath: library.file.description)
    let copy = library.folder.appending(path: "copy")
    try FileManager.default.copyItem(at: file, to: copy)
    try library.reopen()
    try library.add([Samples.asset(4)])
    let lost = try revision(library)
    try library.close()
    try FileManager.default.removeItem(at: file)
    try FileManager.default.moveItem(at: copy, to: file)
    try library.reopen()
    // Too high now, and of an unknown epoch once there are as many changes.
    #expect(try refusal(lost, library)?.code == .unknownRevision)
    try library.add([Samples.asset(6), Samples.asset(7)])
    #expect(try refusal(lost, library)?.code == .unknownRevision)
    let known = try library.read { try $0.changes(since: shared).assets.count }
    #expect(known == 2)
  }

  @Test("A copy in the middle of an epoch does not know what came after", .onlySQLite)
  func copiedEpoch() throws {
    let library = try makeLibrary()
    let copy = library.folder.appending(path: "copy")
    _ = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    let file = URL(filePath: library.file.description)
    try FileManager.default.copyItem(at: file, to: copy)
    try library.add([Samples.asset(4)])
    let lost = try revision(library)
    try library.close()
    try FileManager.default.removeItem(at: file)
    try FileManager.default.moveItem(at: copy, to: file)
    try library.reopen()
    #expect(try refusal(lost, library)?.code == .unknownRevision)
    try library.add([Samples.asset(6)])
    #expect(try revision(library).number == lost.number)
    #expect(try refusal(lost, library)?.code == .unknownRevision)
  }

  @Test("After 30 days, revisions are forgotten, and the keys of assets deleted before them")
  func retention() throws {
    let library = try makeLibrary()
    let old = try revision(library)
    try library.catalog.apply([.purged(Samples.id(3))], manifestPosition: 4)
    try library.reopen()
    try library.add([Samples.asset(4)])
    let recent = try revision(library)
    try library.catalog.apply([.purged(Samples.id(4))], manifestPosition: 5)
    try library.execute("UPDATE epoch SET began_at = began_at - 31 * 86400000000")
    // A day later in the same process would do as well.
    try library.reopen()
    try library.add([Samples.asset(6)])
    #expect(try refusal(old, library)?.code == .unknownRevision)
    let page = try library.read { try $0.changes(since: recent) }
    #expect(page.assets.map(\.id) == [4, 6].map { Samples.id($0) })
    #expect(page.assets.map(\.isDeleted) == [true, false])
    #expect(try library.count("SELECT count(*) FROM revision WHERE removed = 1") == 1)
    #expect(try library.count("SELECT count(*) FROM epoch") == 2)
  }

  @Test("A catalog of version 6 begins with no change, and numbers those that follow", .onlySQLite)
  func migration() throws {
    let library = try makeLibrary()
    let before = try revision(library)
    try library.execute("ALTER TABLE sighting DROP COLUMN run")
    for table in [
      "frame", "sign", "member", "annotation", "album", "revision", "epoch", "counter",
    ] {
      try library.execute("DROP TABLE \(table)")
    }
    try library.execute("DROP INDEX run_ended")
    try library.execute("DELETE FROM setting WHERE key = '\(Setting.counters)'")
    try library.execute("PRAGMA user_version = 6")
    try library.reopen()
    #expect(try library.count("PRAGMA user_version") == Schema.version)
    let start = try revision(library)
    #expect(start.number == 0 && start.epoch != before.epoch)
    let first = try library.read { try $0.changes(since: start).assets.count }
    #expect(first == 0)
    #expect(try changes(in: library) { try library.add([Samples.asset(4)]) } == [4])
    let trashed = try changes(in: library) {
      try library.catalog.apply([.trashed(Samples.id(1), at: .now)], manifestPosition: 9)
    }
    #expect(trashed == [1])
    #expect(try refusal(before, library)?.code == .unknownRevision)
    try library.catalog.configure(Samples.stages() + [Self.sidecar])
    #expect(try library.integrity() == "ok")
  }

  @Test("A draft numbers nothing: nobody has read it")
  func draft() throws {
    let library = try Library()
    let file = BytePath(library.folder.path).appending("draft.sqlite")
    let draft = try Catalog.create(at: file, libraryID: Library.id, isDraft: true)
    try draft.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    try draft.finishDraft()
    let reader = try CatalogReader.open(at: file, immutable: true)
    #expect(try reader.revision.number == 0 && reader.assetCount() == 1)
    try reader.close()
  }

  @Test("Other words are no revisions")
  func words() {
    for word in [
      "", "0", "5f3a9c01d2e47b60", "5f3a9c01d2e47b60-", "5f3a9c01d2e47b60--1", "5f3a-7",
      "5f3a9c01d2e47b6x-7", "5f3a9c01d2e47b60-7-1", "5f3a9c01d2e47b60-99999999999999999999",
    ] { #expect(Revision(word) == nil, "\(word)") }
    let revision = Revision("5F3A9C01D2E47B60-7")
    #expect(revision?.description == "5f3a9c01d2e47b60-7")
  }
}
