import Foundation
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

@Suite("Reading", .onEachDatabase, .timeLimit(.minutes(5)))
struct ReaderTests {
  /// Three assets, of which the first two share their bytes; the third fails.
  private func makeLibrary() throws -> Library {
    let library = try Library()
    let catalog = library.catalog
    try catalog.configure(Samples.stages())
    try library.add([Samples.asset(1, digest: 5), Samples.asset(2, digest: 5), Samples.asset(3)])
    let jobs = try catalog.claim(stage: "identify", limit: 9, suspects: false)
    _ = try catalog.complete(
      jobs.map { job in
        Completion(
          token: job.token,
          outcome: job.asset == Samples.id(1)
            ? .done(facts: ["mediaType": "image/jpeg", "width": 12], renditions: [])
            : .failed(class: "permanent", reason: "It is cut off.", retryAt: nil), seconds: 0.5)
      })
    let thumbnails = try catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    _ = try catalog.complete(
      thumbnails.map {
        let pair = [Samples.rendition("page", path: "r/page"), Samples.rendition("grid")]
        return Completion(
          token: $0.token, outcome: .done(facts: [:], renditions: pair), seconds: 1)
      })
    return library
  }

  @Test("Assets come in key order, each with its facts, renditions and state")
  func assets() throws {
    let library = try makeLibrary()
    try library.read { reader throws in
      var all: [AssetRecord] = []
      try reader.assets { asset in
        all.append(asset)
        // A reader may be asked for more from within.
        let again = try reader.asset(asset.id)
        #expect(again == asset)
      }
      #expect(all.map(\.id) == [1, 2, 3].map { Samples.id($0) })
      #expect(all.map(\.state) == [.done, .done, .failed])
      #expect(all.map { $0.renditions.map(\.name) } == [["grid", "page"], ["grid", "page"], []])
      #expect(all[0].renditions.map(\.path) == [nil, "r/page"])
      #expect(all[0].renditions.allSatisfy { $0.stage == "thumbnails" && !$0.isStale })
      #expect(all[0].identity == ["mediaType": "image/jpeg", "width": 12])
      #expect(all[2].identity == nil)
    }
  }

  @Test("A read ends when its condition holds, and the next one is not concerned")
  func interrupted() throws {
    let library = try makeLibrary()
    try library.read { reader throws in
      let looks = Mutex(0)
      // Endless, but for the condition.
      let endless = #expect(throws: CatalogError.self) {
        try reader.interruptible(when: {
          looks.withLock {
            $0 += 1; return $0 > 100
          }
        }) {
          try reader.read { (connection) throws(CatalogError) in
            _ = try connection.first(
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
            ) { $0.int(0) }
          }
        }
      }
      // Not asked again: what ends the transaction goes through.
      #expect(endless?.code == .interrupted && looks.withLock { $0 } == 101)
      // Short statements, each too short to be asked about.
      looks.withLock { $0 = 0 }
      let many = #expect(throws: CatalogError.self) {
        try reader.interruptible(when: {
          looks.withLock {
            $0 += 1; return $0 > 100
          }
        }) {
          while true { _ = try reader.isTrashed(Samples.id(1)) }
        }
      }
      #expect(many?.code == .interrupted, "\(many?.message ?? "no error")")
      #expect(try reader.assetCount() == 3)
      let undisturbed = try reader.interruptible(when: { false }) { try reader.assetCount() }
      #expect(undisturbed == 3)
    }
  }

  @Test("A state says what is going on, the trash before all else")
  func states() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...4).map { Samples.asset($0) })
    let jobs = try library.catalog.claim(stage: "identify", limit: 2, suspects: false)
    _ = try library.catalog.complete([
      Completion(
        token: jobs[0].token, outcome: .failed(class: "permanent", reason: "No.", retryAt: nil),
        seconds: 1)
    ])
    func state(_ number: Int) throws -> AssetRecord.State? {
      try library.read { try $0.asset(Samples.id(number))?.state }
    }
    #expect(try state(1) == .failed && state(2) == .processing && state(3) == .ready)
    try library.execute("UPDATE asset SET trashed_at = 5 WHERE id IN (SELECT min(id) FROM asset)")
    #expect(try state(1) == .trashed)
    #expect(try library.read { try $0.failures() }.isEmpty)
    // Stages that are not configured don't count.
    try library.catalog.configure([])
    #expect(try state(2) == .done && state(3) == .done)
  }

  @Test("Assets with some bytes: the trash comes last")
  func trashLast() throws {
    let library = try makeLibrary()
    try library.execute("UPDATE asset SET trashed_at = 5 WHERE id IN (SELECT min(id) FROM asset)")
    let expected = [Samples.id(2), Samples.id(1)]
    #expect(try library.catalog.assets(with: Samples.digest(5)) == expected)
    #expect(try library.read { try $0.assets(with: Samples.digest(5)) } == expected)
  }

  @Test("A key is found by how it begins or ends, with or without dashes, in either case")
  func matching() throws {
    let library = try Library()
    try library.add((1...40).map { Samples.asset($0) })
    try library.read { reader throws in
      for number in [1, 23, 40] {
        let id = Samples.id(number)
        let text = id.description
        let plain = text.filter { $0 != "-" }
        let forms: [String] = [
          text, text.uppercased(), plain, String(text.suffix(12)), String(text.suffix(15)),
          String(plain.suffix(7)).uppercased(), String(text.prefix(13)), String(plain.prefix(31)),
        ]
        for form in forms {
          #expect(try reader.assetIDs(matching: form, limit: 50).contains(id), "\(form)")
        }
        #expect(try reader.assetIDs(matching: text, limit: 2) == [id])
        #expect(try reader.assetIDs(matching: String(plain.suffix(9)), limit: 2) == [id])
      }
      let all = (1...40).map { Samples.id($0) }
      #expect(try reader.assetIDs(matching: "018b", limit: 100) == all)
      #expect(try reader.assetIDs(matching: "018b", limit: 2).count == 2)
      let last = try #require(all.first?.description.last)
      let ending = all.filter { $0.description.last == last }
      #expect(
        try reader.assetIDs(matching: String(last), limit: 100).filter(ending.contains) == ending)
      for nonsense in ["", "-", "xyz", "018b%", String(repeating: "0", count: 33), "ffffffff"] {
        #expect(try reader.assetIDs(matching: nonsense, limit: 5).isEmpty, "\(nonsense)")
      }
    }
  }

  @Test("A path is found in every source that it lies in, an ignored folder without its slash")
  func absolutePaths() throws {
    let library = try Library()
    func seen(_ source: String, _ path: String) -> Sighting {
      Sighting(
        source: BytePath(source), path: BytePath(path), state: .ignored, seenAt: Samples.start)
    }
    let all = [seen("/", "in/a/x"), seen("/in", "a/x"), seen("/in/a", "x"), seen("/in", "tmp/")]
    try library.catalog.apply(all.map { .sighting($0) }, manifestPosition: 1)
    try library.read { reader throws in
      #expect(Set(try reader.sightings(path: BytePath("/in/a/x"))) == Set(all[0...2]))
      #expect(try reader.sightings(path: BytePath("/in/tmp")) == [all[3]])
      #expect(try reader.sightings(path: BytePath("/in/tmp/")) == [all[3]])
      #expect(try reader.sightings(path: BytePath("/in/a")).isEmpty)
      #expect(try reader.sightings(path: BytePath("/inn/a/x")).isEmpty)
    }
  }

  @Test("Jobs, attempts and failures tell what happened")
  func jobs() throws {
    let library = try makeLibrary()
    try library.read { reader throws in
      let jobs = try reader.jobs(of: Samples.id(3))
      #expect(jobs.map(\.stage) == ["identify", "thumbnails"])
      #expect(jobs.map(\.state) == [.failed, .skipped])
      #expect(jobs[0].failureClass == "permanent" && jobs[0].attempts == 1)
      #expect(jobs[0].finishedAt != nil && jobs[0].seconds == 0.5 && jobs[0].facts == nil)
      let attempts = try reader.attempts(of: Samples.id(2), stage: "identify")
      #expect(attempts.map(\.outcome) == [.done] && attempts.map(\.runtime) == ["1.0"])
      #expect(attempts.map(\.limits) == ["{}"] && attempts.map(\.seconds) == [0.5])
      let failures = try reader.failures()
      #expect(
        failures == [
          FailureRecord(
            asset: Samples.id(3), name: BytePath("IMG_3.jpg"), stage: "identify",
            failureClass: "permanent", reason: "It is cut off.", attempts: 1)
        ])
    }
  }

  @Test("The status counts everything once")
  func status() throws {
    let library = try makeLibrary()
    try library.read { reader throws in
      let status = try reader.status()
      #expect(status.assets == 3 && status.originals == 2)
      #expect(status.originalBytes == 1_005 + 1_003)
      #expect(status.renditions == 2 && status.renditionBytes == 128)
      #expect(
        status.jobs == [
          "identify": [.done: 2, .failed: 1], "thumbnails": [.done: 2, .skipped: 1],
        ])
      var originals: [Digest: Int] = [:]
      try reader.originals { originals[$0] = $1 }
      #expect(originals == [Samples.digest(5): 1_005, Samples.digest(3): 1_003])
    }
  }

  @Test("A forecast leaves out what was done without work, as it says nothing about the rest")
  func forecast() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add([Samples.asset(1), Samples.asset(2), Samples.asset(3)])
    func complete(_ count: Int, _ outcome: Completion.Outcome, seconds: Double) throws {
      let jobs = try library.catalog.claim(stage: "identify", limit: count, suspects: false)
      _ = try library.catalog.complete(
        jobs.map { Completion(token: $0.token, outcome: outcome, seconds: seconds) })
    }
    func seconds() throws -> Double? {
      try library.read { try $0.forecast(Samples.stages()[0]).seconds }
    }
    try complete(1, .done(facts: [:], renditions: []), seconds: 0)
    #expect(try seconds() == nil)
    try complete(1, .done(facts: [:], renditions: []), seconds: 2)
    #expect(try seconds() == 2)
    // As many of the others will be skipped, too.
    try complete(1, .skipped(reason: "Why."), seconds: 0)
    #expect(try seconds() == 1)
  }

  @Test("All renditions are given, those of former stages as stale")
  func allRenditions() throws {
    let library = try makeLibrary()
    func all() throws -> [RenditionRecord] {
      try library.read { reader throws in
        var all: [RenditionRecord] = []
        try reader.allRenditions { all.append($0) }
        return all
      }
    }
    #expect(try all().map(\.isStale) == [false, false])
    #expect(try all().map(\.stage) == ["thumbnails", "thumbnails"])
    let grid = try #require(try all().first { $0.path == nil })
    #expect(try library.read { try $0.renditionBytes(grid.id) } == [UInt8](repeating: 7, count: 64))
    try library.catalog.configure(Samples.stages(thumbnails: 20))
    #expect(try all().map(\.isStale) == [true, true])
    try library.catalog.configure([])
    #expect(try all().map(\.stage) == ["thumbnails", "thumbnails"])
  }

  /// Something that goes through many rows, and calls its body for each.
  enum Walk: CaseIterable {
    case assets, trash, originals, originalsOfByte, digests, renditions, renditionFiles, sightings

    /// The number of a digest that begins as the first one does.
    static let twin =
      (2...).first { Samples.digest($0).bytes[0] == Samples.digest(1).bytes[0] } ?? 1

    func run(_ reader: CatalogReader, _ body: () throws -> Void) throws {
      switch self {
      case .assets: try reader.assets { _ in try body() }
      case .trash: try reader.trashedAssets { _ in try body() }
      case .originals: try reader.originals { _, _ in try body() }
      case .originalsOfByte:
        try reader.originals(beginningWith: Samples.digest(1).bytes[0]) { _ in try body() }
      case .digests: _ = try reader.assetDigests { _, _ in try body() }
      case .renditions: try reader.allRenditions { _ in try body() }
      case .renditionFiles: try reader.renditionFiles(below: "renditions") { _ in try body() }
      case .sightings:
        let cursor = try reader.sightings(of: Samples.source)
        defer { cursor.close() }
        while try cursor.next() != nil { try body() }
      }
    }
  }

  @Test("A reader in the middle of a list holds no snapshot", .onlySQLite, arguments: Walk.allCases)
  func besideTheWriter(walk: Walk) throws {
    let library = try Library()
    try library.catalog.configure([Samples.stage("thumbnails", fingerprint: 1)])
    try library.add([Samples.asset(1), Samples.asset(2, digest: Walk.twin)])
    let jobs = try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    _ = try library.catalog.complete(
      jobs.map {
        Completion(
          token: $0.token,
          outcome: .done(
            facts: [:], renditions: [Samples.rendition("r", path: "renditions/\($0.asset)")]),
          seconds: 1)
      })
    try library.catalog.apply(
      [1, 2].flatMap { number -> [CatalogChange] in
        [
          .trashed(Samples.id(number), at: .now),
          .sighting(
            Sighting(
              source: Samples.source, path: BytePath("\(number)"), state: .ignored,
              seenAt: .now)),
        ]
      }, manifestPosition: 9)
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    var count = 0
    try walk.run(reader) {
      count += 1
      try library.catalog.apply([], manifestPosition: 9 + Int64(count))
      // Busy is what it says of a log that somebody still reads.
      #expect(try library.count("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
      #expect(try reader.lastManifestPosition == 9 + Int64(count))
    }
    #expect(count == 2)
    try reader.close()
  }

  @Test("A path counts as on disk where something ought to be, whatever its state")
  func pathsOnDisk() throws {
    let library = try Library()
    let identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
    let states = Sighting.State.allCases
    try library.catalog.apply(
      states.flatMap { state in
        [identity, nil].map { identity in
          .sighting(
            Sighting(
              source: Samples.source, path: BytePath("\(state)\(identity == nil ? 0 : 1)"),
              state: state, identity: identity, seenAt: .now))
        }
      }, manifestPosition: 1)
    let counts = try library.read { try $0.status().pathsOnDisk[Samples.source] }
    // Of what was taken nothing is left there without an identity.
    var expected: [Sighting.State: Int] = [.imported: 1, .duplicate: 1, .returned: 1]
    for state in [Sighting.State.ignored, .rejected, .settling, .failed] { expected[state] = 2 }
    #expect(counts == expected)
  }

  @Test("A list longer than a page is given whole, in order, each row once")
  func pages() throws {
    let library = try Library()
    let count = 2 * CatalogReader.pageSize + 1
    try library.add((1...count).map { Samples.asset($0) })
    try library.read { reader throws in
      var ids: [AssetID] = []
      try reader.assets { ids.append($0.id) }
      #expect(ids == (1...count).map { Samples.id($0) })
      var digests: [Digest] = []
      try reader.originals { digest, _ in digests.append(digest) }
      #expect(digests.count == count && Set(digests).count == count)
    }
  }

  @Test("What a body throws comes out, and the reader stays usable")
  func bodyThrows() throws {
    struct Stop: Error {}
    let library = try makeLibrary()
    try library.read { reader throws in
      #expect(throws: Stop.self) { try reader.assets { _ in throw Stop() } }
      #expect(throws: Stop.self) { try reader.allRenditions { _ in throw Stop() } }
      #expect(try reader.status().assets == 3)
    }
  }

  @Test("A reader can't write", .onlySQLite)
  func readOnly() throws {
    let library = try Library()
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    #expect(throws: CatalogError.self) {
      try reader.read { (connection) throws(CatalogError) -> Int in
        try connection.changes("DELETE FROM asset")
      }
    }
    try reader.close()
    #expect(throws: CatalogError.self) {
      _ = try CatalogReader.open(at: BytePath("/nowhere/catalog.sqlite"), immutable: true)
    }
  }

  @Test("A closed catalog says so")
  func closed() throws {
    let library = try Library()
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    try reader.close()
    #expect(throws: CatalogError.self) { try reader.status() }
    try library.close()
    let error = #expect(throws: CatalogError.self) { try library.catalog.newestAssetID() }
    #expect(error?.message.contains("closed") == true)
    #expect(throws: CatalogError.self) { try library.add([Samples.asset(1)]) }
  }

  @Test("A method of the writer within another one traps", .onlySQLite)
  func reentrancy() async throws {
    // The folder is the parent's, so that it goes although the child traps.
    let library = try Library()
    try library.close()
    let file = library.file.description
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [file = file as String] in
      let catalog = try Catalog.open(at: BytePath(file), libraryID: Library.id)
      try catalog.write { (_) throws(CatalogError) in _ = try catalog.newestAssetID() }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("can't be called from within one another"))
  }
}
