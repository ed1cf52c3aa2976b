import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("Deleting and giving back in the catalog", .onEachDatabase, .timeLimit(.minutes(5)))
struct DeletionTests {
  private static let sidecar = Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true)

  /// Two assets with the same bytes, a third with others.
  private func makeLibrary(done: Bool = true) throws -> Library {
    let library = try Library()
    try library.catalog.configure(Samples.stages() + [Self.sidecar])
    try library.add([
      Samples.asset(1, digest: 5), Samples.asset(2, digest: 5), Samples.asset(3),
    ])
    if done {
      for stage in ["identify", "thumbnails", "sidecar"] { try finish(stage, in: library) }
    }
    return library
  }

  private func finish(_ stage: String, in library: Library) throws {
    let jobs = try library.catalog.claim(stage: stage, limit: 99, suspects: false)
    _ = try library.catalog.complete(jobs.map { completion(of: $0, stage) })
  }

  private func completion(of job: ClaimedJob, _ stage: String) -> Completion {
    let path = "renditions/\(stage)/\(job.isAssetScoped ? "\(job.asset)" : job.digest.hex)"
    return Completion(
      token: job.token,
      outcome: .done(facts: [:], renditions: [Samples.rendition("r", path: path)]),
      seconds: 1)
  }

  private func sighting(
    _ path: String, _ state: Sighting.State, _ asset: AssetID?, at time: Timestamp = Samples.start,
    awaitsRemoval: Bool = false
  ) -> Sighting {
    Sighting(
      source: Samples.source, path: BytePath(path), state: state,
      identity: FileIdentity(inode: 7, size: 12, modified: 1, changed: 2), asset: asset,
      seenAt: time, awaitsRemoval: awaitsRemoval)
  }

  @Test("Work that only the trash wants is not claimed, and is again when it is restored")
  func trash() throws {
    let library = try makeLibrary(done: false)
    let catalog = library.catalog
    let time = Samples.start.adding(seconds: 100)
    try catalog.apply(
      [.trashed(Samples.id(1), at: time), .trashed(Samples.id(3), at: time)], manifestPosition: 9)
    // Once more does not change the time.
    try catalog.apply([.trashed(Samples.id(3), at: .now)], manifestPosition: 9)
    #expect(
      try library.count("SELECT trashed_at FROM asset WHERE id = (SELECT max(id) FROM asset)")
        == time.microseconds)
    let jobs = try catalog.claim(stage: "identify", limit: 9, suspects: false)
    // The second asset wants the bytes of the first.
    #expect(jobs.map(\.asset) == [Samples.id(2)])
    #expect(try library.read { try $0.asset(Samples.id(3))?.state } == .trashed)
    #expect(
      try library.read { try $0.trash(limit: 9).map(\.id) } == [Samples.id(1), Samples.id(3)])
    try catalog.apply([.restored(Samples.id(3))], manifestPosition: 10)
    let again = try catalog.claim(stage: "identify", limit: 9, suspects: false)
    #expect(again.map(\.asset) == [Samples.id(3)])
    #expect(try library.read { try $0.asset(Samples.id(3))?.state } == .processing)
  }

  @Test("A failure in the trash is not waited for")
  func trashedFailure() throws {
    let library = try makeLibrary(done: false)
    let jobs = try library.catalog.claim(stage: "identify", limit: 9, suspects: false)
    let due = Timestamp.now.adding(seconds: 30)
    _ = try library.catalog.complete(
      jobs.map {
        Completion(
          token: $0.token, outcome: .failed(class: "transient", reason: "Why.", retryAt: due),
          seconds: 1)
      })
    #expect(try #require(library.catalog.nextDue(after: nil).next).isAbout(due))
    try library.catalog.apply(
      [1, 2, 3].map { .trashed(Samples.id($0), at: .now) }, manifestPosition: 9)
    #expect(try library.catalog.nextDue(after: nil).next == nil)
  }

  @Test("A purged asset goes with all that is about it alone")
  func purge() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    try catalog.apply(
      [.sighting(sighting("a", .imported, Samples.id(1), awaitsRemoval: true))],
      manifestPosition: 5)
    try catalog.apply([.purged(Samples.id(1))], manifestPosition: 6)
    #expect(try library.count("SELECT count(*) FROM asset") == 2)
    #expect(try library.count("SELECT count(*) FROM original") == 2)
    #expect(try library.count("SELECT count(*) FROM ledger") == 2 * 2 + 2)
    #expect(try catalog.consumeDiscardedFiles() == ["renditions/sidecar/\(Samples.id(1))"])
    let seen = try #require(try catalog.sighting(source: Samples.source, path: "a"))
    #expect(seen.state == .imported && seen.asset == nil && seen.awaitsRemoval)
    #expect(seen.identity != nil && seen.reason != nil)
    try catalog.apply([.purged(Samples.id(2)), .purged(Samples.id(2))], manifestPosition: 7)
    #expect(try catalog.hasOriginal(Samples.digest(5)) == false)
    #expect(try library.count("SELECT count(*) FROM ledger") == 3)
    #expect(try library.count("SELECT count(*) FROM rendition") == 3)
    #expect(try catalog.consumeDiscardedFiles().count == 3)
    #expect(try catalog.consumeDiscardedFiles().isEmpty)
    #expect(try library.integrity() == "ok")
  }

  @Test("An attempt whose asset is deleted meanwhile is passed over, and its file is to be removed")
  func withdrawn() throws {
    let library = try makeLibrary(done: false)
    let catalog = library.catalog
    try finish("identify", in: library)
    _ = try catalog.consumeDiscardedFiles()
    let jobs = try catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    #expect(jobs.map(\.asset) == [Samples.id(1), Samples.id(3)])
    try catalog.apply([.purged(Samples.id(3))], manifestPosition: 6)
    _ = try catalog.consumeDiscardedFiles()
    let tokens = jobs.map(\.token)
    #expect(try catalog.withdrawn(among: tokens) == [tokens[1]])
    let files = try catalog.complete(jobs.map { completion(of: $0, "thumbnails") })
    #expect(files == ["renditions/thumbnails/\(Samples.digest(3).hex)"])
    #expect(try library.read { try $0.asset(Samples.id(1))?.renditions.count } == 2)
    // The same bytes come again while the old attempt is under way: its file is theirs, unless each attempt has its
    // own.
    try library.add([Samples.asset(4, digest: 3)])
    try finish("identify", in: library)
    let old = try catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    try catalog.apply([.purged(Samples.id(4))], manifestPosition: 7)
    try library.add([Samples.asset(5, digest: 3)])
    try catalog.requeue([])
    _ = try catalog.consumeDiscardedFiles()
    let late = try catalog.complete(old.map { completion(of: $0, "thumbnails") })
    #expect(late == (catalog.isOnServer ? files : []))
    let more = try catalog.claim(stage: "sidecar", limit: 9, suspects: false)
    try catalog.apply([.purged(Samples.id(5))], manifestPosition: 8)
    try catalog.requeue(more.map(\.token))
    #expect(try library.integrity() == "ok")
  }

  @Test("A returned asset goes, and its path says so; duplicates that stayed are looked at again")
  func returned() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    let runs = [100, 200].map {
      RunRecord(
        id: Samples.id($0), verb: "run", startedAt: Samples.start.adding(seconds: Double($0)))
    }
    for run in runs { try catalog.beginRun(run) }
    var asset = Samples.asset(9)
    asset.run = Samples.id(100)
    try catalog.apply(
      [
        .asset(asset), .sighting(sighting("a", .imported, asset.id)),
        .sighting(
          sighting("same", .duplicate, asset.id, at: Samples.start.adding(seconds: 101))),
        .sighting(
          sighting("later", .duplicate, asset.id, at: Samples.start.adding(seconds: 201))),
      ], manifestPosition: 10)
    let back = sighting("a", .returned, nil)
    let change = CatalogChange.returned(asset.id, back)
    for _ in 1...2 { try catalog.apply([change], manifestPosition: 11) }
    #expect(try catalog.sighting(source: Samples.source, path: "a") == back)
    #expect(try catalog.sighting(source: Samples.source, path: "same")?.state == .returned)
    #expect(try catalog.sighting(source: Samples.source, path: "later")?.state == .settling)
    #expect(try !catalog.hasOriginal(asset.digest))
    #expect(try library.integrity() == "ok")
  }

  @Test("Runs are found by digits, and a run that only the manifest knows is one")
  func runs() throws {
    let library = try Library()
    let catalog = library.catalog
    let first = RunRecord(id: Samples.id(50), verb: "run", startedAt: Samples.start)
    try catalog.beginRun(first)
    #expect(try library.read { try $0.lastImportingRun() } == nil)
    let lost = RunRecord(
      id: Samples.id(60), verb: RunRecord.unknownVerb, startedAt: Samples.start)
    var asset = Samples.asset(1)
    asset.run = first.id
    var other = Samples.asset(2)
    other.run = lost.id
    // The first is recorded already, and stays what it is.
    let again = RunRecord(
      id: first.id, verb: RunRecord.unknownVerb, startedAt: Samples.start.adding(seconds: 5))
    try catalog.apply(
      [.asset(asset), .asset(other), .run(again), .run(lost)], manifestPosition: 2)
    try library.read { reader throws in
      #expect(try reader.run(first.id) == first)
      #expect(try reader.run(lost.id) == lost)
      #expect(try reader.lastImportingRun() == lost.id)
      #expect(try reader.runWithAssets(before: lost.id) == first.id)
      #expect(try reader.assetCount(of: lost.id) == 1)
      #expect(try reader.runIDs(matching: "\(lost.id)") == [lost.id])
      #expect(try reader.runIDs(matching: String("\(lost.id)".suffix(6).uppercased())) == [lost.id])
      #expect(try reader.runIDs(matching: "") == [] && reader.runIDs(matching: "x") == [])
      let origin = try #require(try reader.origins(of: lost.id, before: nil, limit: 9).first)
      #expect(origin.id == other.id && origin.permissions == 0o640 && !origin.isTrashed)
      #expect(origin.path == other.path && origin.modified == other.modified)
      #expect(try reader.origins(of: lost.id, before: other.id, limit: 9).isEmpty)
    }
  }

  private func dropFormerStages(_ library: Library) throws -> Int {
    var former = try FormerStages(library.catalog)
    var count = 0
    while let dropped = try former.dropNext() { count += dropped.count }
    return count
  }

  @Test("What only former stages made goes; what a configured one shares stays")
  func formerStages() throws {
    let library = try makeLibrary()
    try library.catalog.configure(Samples.stages())
    #expect(try library.read { try $0.formerRenditions().count } == 3)
    #expect(try dropFormerStages(library) == 3)
    #expect(try dropFormerStages(library) == 0)
    #expect(try library.read { try $0.formerRenditions().count } == 0)
    #expect(try library.catalog.consumeDiscardedFiles().count == 3)
    #expect(try library.read { try $0.asset(Samples.id(1))?.renditions.count } == 2)
    // Configured again, it does its work again.
    try library.catalog.configure(Samples.stages() + [Self.sidecar])
    try finish("sidecar", in: library)
    #expect(try library.read { try $0.asset(Samples.id(1))?.renditions.count } == 3)
    #expect(try library.integrity() == "ok")
  }

  @Test("Originals and renditions are given page by page")
  func pages() throws {
    let library = try makeLibrary()
    try library.read { reader throws in
      let all = try reader.originals(after: nil, limit: 9).map(\.digest)
      #expect(Set(all) == [Samples.digest(5), Samples.digest(3)])
      #expect(try reader.originals(after: all[0], limit: 9).map(\.digest) == [all[1]])
      #expect(try reader.originals(after: all[1], limit: 9).isEmpty)
      var listed: [RenditionRecord] = []
      try reader.allRenditions { listed.append($0) }
      #expect(try reader.renditions(after: 0, limit: 99) == listed && listed.count == 7)
      #expect(try reader.renditions(after: listed[2].id, limit: 2) == Array(listed[3...4]))
      #expect(try reader.rendition(listed[4].id) == listed[4])
      #expect(try reader.rendition(999) == nil)
    }
  }

  @Test("A rendition is due while a job makes it, or is about to")
  func dueRenditions() throws {
    let library = try makeLibrary()
    let due = try #require(Hexadecimal.decode(Array(Samples.fingerprint(22).short.utf8)))
    func isDue(_ number: Int) throws -> Bool {
      try library.read {
        try $0.isRenditionDue(owner: Samples.digest(number).bytes, fingerprint: due)
      }
    }
    #expect(try !isDue(3) && !isDue(5))
    try library.catalog.configure(Samples.stages(thumbnails: 22))
    #expect(try isDue(3) && isDue(5) && !isDue(4))
  }
}
