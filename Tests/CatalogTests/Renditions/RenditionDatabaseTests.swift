import Foundation
import Glibc
import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("The database of renditions", .onEachDatabase, .timeLimit(.minutes(5)))
struct RenditionDatabaseTests {
  @Test("It has the pragmas that its promises rest on, and the catalog's permissions", .onlySQLite)
  func pragmas() throws {
    let library = try Library()
    #expect(chmod(library.file.description, 0o600) == 0)
    try library.catalog.configure(Samples.stages())
    #expect(!FileManager.default.fileExists(atPath: library.renditionFile.description))
    try library.add([Samples.asset(1)])
    try library.render(["r"], stage: "identify")
    func value(_ pragma: String) throws -> String? {
      try library.catalog.access.sync { (writer) throws(CatalogError) in
        try writer.renditions?.read { (connection) throws(CatalogError) in
          try connection.first("PRAGMA \(pragma)") { $0.text(0) }
        }
      }
    }
    #expect(try value("journal_mode") == "wal" && value("synchronous") == "2")
    #expect(try value("mmap_size") == "0" && value("cell_size_check") == "1")
    #expect(try value("trusted_schema") == "0" && value("cache_size") == "-1024")
    #expect(try value("application_id") == String(RenditionSchema.applicationID))
    #expect(try value("user_version") == "1")
    var status = stat()
    #expect(stat(library.renditionFile.description, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    // A removal need not be flushed, but what comes after it does.
    try library.catalog.invalidate(rendition: 1)
    #expect(try value("synchronous") == "2" && library.keptKeys().isEmpty)
  }

  @Test("It has the bytes of exactly the renditions that are not files, under their names")
  func keys() throws {
    let library = try Library.rendered(3, ["grid", "preview"])
    let sidecar = Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true)
    try library.catalog.configure(Samples.stages() + [sidecar])
    try library.render(["mine"], stage: "sidecar")
    let kept = try library.keptKeys()
    #expect(try kept.count == 9 && kept == library.namedKeys())
    let key = RenditionKey(
      owner: Samples.digest(2).bytes, fingerprint: Samples.fingerprint(2), name: "grid")
    let own = RenditionKey(
      owner: Samples.id(2).bytes, fingerprint: Samples.fingerprint(3), name: "mine")
    #expect(kept.contains(key) && kept.contains(own))
    for rendition in try library.renditions() {
      let bytes = try library.read { try $0.renditionBytes(rendition.id) }
      #expect(bytes?.count == rendition.bytes)
      #expect(bytes.map { Array($0.prefix(32)) } == rendition.digest.bytes)
    }
    guard TestedDatabase.current == .sqlite else { return }
    #expect(
      try library.count("SELECT count(*) FROM sqlite_schema WHERE name = 'rendition_bytes'") == 0)
  }

  @Test("What is looked up with its key has its bytes, also if they have another key since")
  func storedRendition() throws {
    let library = try Library.rendered(2)
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    for record in try library.renditions() {
      let stored = try #require(try reader.storedRendition(record.id, most: 1 << 20))
      #expect(stored.record.digest == record.digest && stored.record.name == record.name)
      let bytes = try #require(try reader.renditionBytes(record.id))
      #expect(try reader.bytes(of: stored) == bytes)
      // It has the bytes, or leads to them, without the catalog's help.
      #expect(try reader.bytes(of: StoredRendition(gone(record), stored.source)) == bytes)
      guard case .key(let key) = stored.source else {
        #expect(TestedDatabase.current == .postgreSQL)
        continue
      }
      let former = RenditionKey(owner: key.owner, fingerprint: key.fingerprint, name: "former")
      #expect(try reader.bytes(of: StoredRendition(record, .key(former))) == bytes)
    }
    try reader.close()
  }

  private func gone(_ record: RenditionRecord) -> RenditionRecord {
    var gone = record
    gone.id = .max
    return gone
  }

  @Test("Bytes are stored before the row; without it they are overwritten, or garbage", .onlySQLite)
  func order() throws {
    let library = try Library.rendered(1)
    try library.catalog.invalidate(rendition: 1)
    #expect(try library.keptKeys().isEmpty)
    try library.execute(
      """
      CREATE TEMP TRIGGER fault BEFORE INSERT ON main.rendition BEGIN
        SELECT RAISE(ABORT, 'as if killed');
      END
      """)
    #expect(throws: CatalogError.self) { try library.render(["grid"], mark: 1) }
    #expect(try library.keptKeys().count == 1 && library.namedKeys().isEmpty)
    try library.execute("DROP TRIGGER temp.fault")
    // As the next process would.
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    try library.render(["grid"], mark: 2)
    #expect(try library.keptKeys() == library.namedKeys())
    let rendition = try #require(try library.renditions().first)
    #expect(try library.read { try $0.renditionBytes(rendition.id) }?.last == 2)
  }

  @Test("What was written stays, whoever removes its log while it is open", .onlySQLite)
  func removedLog() throws {
    let library = try Library.rendered(2, ["grid"])
    for suffix in ["-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: library.renditionFile.description + suffix)
    }
    try library.add([Samples.asset(3)])
    try library.render(["mine"], stage: "identify")
    let kept = try library.keptKeys()
    #expect(try kept.count == 3 && kept == library.namedKeys())
  }

  @Test("If an attempt of a group has ended, no bytes of the group are stored")
  func staleToken() throws {
    let library = try Library.rendered(1)
    try library.add([Samples.asset(2), Samples.asset(3)])
    let jobs = try library.catalog.claim(stage: "identify", limit: 9, suspects: false)
    let completions = jobs.map { job in
      Completion(
        token: job.token,
        outcome: .done(facts: [:], renditions: [Library.made(of: job.digest, "r")]), seconds: 1)
    }
    try library.catalog.requeue([jobs[1].token])
    let error = #expect(throws: CatalogError.self) { try library.catalog.complete(completions) }
    #expect(error?.code == .staleToken)
    #expect(try library.keptKeys() == library.namedKeys())
  }

  @Test("An attempt that another one has replaced overwrites none of its bytes")
  func replacedAttempt() throws {
    let library = try Library.rendered(1)
    try library.add([Samples.asset(2)])
    func claim() throws -> ClaimedJob {
      try #require(try library.catalog.claim(stage: "identify", limit: 1, suspects: false).first)
    }
    func complete(_ job: ClaimedJob, mark: UInt8) throws {
      let made = Library.made(of: job.digest, "r", mark: mark)
      _ = try library.catalog.complete([
        Completion(token: job.token, outcome: .done(facts: [:], renditions: [made]), seconds: 1)
      ])
    }
    let first = try claim()
    // As the next process does.
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    try complete(try claim(), mark: 1)
    let error = #expect(throws: CatalogError.self) { try complete(first, mark: 2) }
    #expect(error?.code == .staleToken)
    let rendition = try #require(try library.renditions().last)
    #expect(try library.read { try $0.renditionBytes(rendition.id) }?.last == 1)
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 2)
  }

  @Test("A result of an asset that was deleted meanwhile stores nothing")
  func withdrawn() throws {
    let library = try Library.rendered(1)
    try library.add([Samples.asset(2)])
    let job = try #require(
      try library.catalog.claim(stage: "identify", limit: 9, suspects: false).first)
    try library.catalog.apply([.purged(Samples.id(2))], manifestPosition: 9)
    _ = try library.catalog.complete([
      Completion(
        token: job.token,
        outcome: .done(facts: [:], renditions: [Library.made(of: job.digest, "r")]), seconds: 1)
    ])
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 1)
  }

  @Test("Whatever ends a row or gives it a file removes its bytes")
  func removal() throws {
    let library = try Library.rendered(4, ["grid", "preview"])
    func expectSame(_ count: Int) throws {
      #expect(try library.keptKeys().count == count && library.keptKeys() == library.namedKeys())
    }
    try expectSame(8)
    let first = try #require(try library.renditions().first)
    try library.catalog.relocate(first.id, to: .file(path: "renditions/a"))
    try expectSame(7)
    try library.catalog.relocate(first.id, to: .database([1, 2]))
    try expectSame(8)
    try library.catalog.apply([.purged(Samples.id(1))], manifestPosition: 9)
    try expectSame(6)
    // Another fingerprint: the old bytes are served until the new ones are there.
    try library.catalog.configure(Samples.stages(thumbnails: 20))
    try expectSame(6)
    try library.render(["grid", "preview"])
    try expectSame(6)
    #expect(try library.keptKeys().allSatisfy { $0.fingerprint == Samples.fingerprint(20) })
    // Skipped, with nothing in its place.
    try library.catalog.configure(Samples.stages(thumbnails: 21))
    let jobs = try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    _ = try library.catalog.complete(
      jobs.prefix(1).map {
        Completion(token: $0.token, outcome: .skipped(reason: "Why."), seconds: 1)
      })
    try expectSame(4)
    try library.catalog.configure([Samples.stages()[0]])
    var former = try FormerStages(library.catalog)
    while try former.dropNext() != nil {}
    try expectSame(0)
  }

  @Test("Bytes whose name a row takes again in the same transaction stay")
  func namedAgain() throws {
    let library = try Library.rendered(1, ["grid", "preview"])
    try library.catalog.invalidate(rendition: 1)
    #expect(try library.keptKeys().map(\.name) == ["preview"])
    try library.render(["grid", "preview"], mark: 3)
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 2)
    for rendition in try library.renditions() {
      #expect(try library.read { try $0.renditionBytes(rendition.id) }?.last == 3)
    }
  }

  @Test("What a kill left without a row is found page by page, and nothing else", .onlySQLite)
  func unnamed() throws {
    let library = try Library.rendered(5, ["grid"])
    let stray =
      (6...12).map {
        RenditionKey(
          owner: Samples.digest($0).bytes, fingerprint: Samples.fingerprint(2), name: "grid")
      } + [
        RenditionKey(
          owner: Samples.digest(1).bytes, fingerprint: Samples.fingerprint(2), name: "g"),
        RenditionKey(
          owner: Samples.digest(1).bytes, fingerprint: Samples.fingerprint(9), name: "grid"),
        RenditionKey(owner: Samples.id(1).bytes, fingerprint: Samples.fingerprint(2), name: "grid"),
      ]
    try library.catalog.access.sync { (writer) throws(CatalogError) in
      try writer.renditions?.write { (database) throws(CatalogError) in
        for key in stray { try database.keepRendition([1, 2, 3], as: key) }
      }
    }
    var (count, bytes, pages) = (0, 0, 0)
    var key: RenditionKey?
    try library.read { reader in
      while let page = try reader.unnamedBytes(after: key, limit: 4) {
        (count, bytes, pages) = (count + page.count, bytes + page.bytes, pages + 1)
        key = page.last
      }
    }
    #expect(count == stray.count && bytes == 3 * stray.count && pages == 4)
    (count, key) = (0, nil)
    while let page = try library.catalog.removeUnnamedBytes(after: key, limit: 4) {
      count += page.count
      key = page.last
    }
    #expect(count == stray.count)
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 5)
  }

  @Test("The memory of its connection is small, whatever is written", .onlySQLite)
  func memory() throws {
    let library = try Library.rendered(1)
    let before = try Self.residentKibibytes()
    for number in 0..<40 {
      try library.catalog.access.sync { (writer) throws(CatalogError) in
        try writer.renditions?.write { (database) throws(CatalogError) in
          let key = RenditionKey(
            owner: Samples.digest(number).bytes, fingerprint: Samples.fingerprint(7), name: "a")
          try database.keepRendition([UInt8](repeating: 1, count: 4 << 20), as: key)
        }
      }
    }
    #expect(try Self.residentKibibytes() - before < 40 << 10)
  }

  private static func residentKibibytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS") }
    return try #require(line?.split(separator: " ").dropLast().last.flatMap { Int($0) })
  }
}
