import PipelineModel
import Records
import Testing

@testable import Catalog

/// What renditions depend on, kept for each fingerprint.
@Suite("Parts of fingerprints", .onEachDatabase, .timeLimit(.minutes(5)))
struct RenditionPartsTests {
  private let library: Library

  init() throws { library = try Library() }

  /// The thumbnail stage with a fingerprint, and parts by name.
  private func stage(_ number: Int, _ parts: [String: Int]) -> StageDefinition {
    var stage = Samples.stage("thumbnails", plugin: "thumbnail", fingerprint: number)
    stage.parts = parts.mapValues { Samples.fingerprint($0) }
    return stage
  }

  private func complete(_ names: String...) throws {
    let jobs = try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    _ = try library.catalog.complete(
      jobs.map { job in
        Completion(
          token: job.token,
          outcome: .done(facts: ["a": 1], renditions: names.map { Samples.rendition($0) }),
          seconds: 1)
      })
  }

  private func keptNames() throws -> [String]? {
    let jobs = try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
    try library.catalog.requeue(jobs.map(\.token))
    return try #require(jobs.first).kept?.renditions.map(\.name)
  }

  @Test("A job is told of the renditions that depend on the same as before, also after a restart")
  func kept() throws {
    try library.catalog.configure([stage(1, ["a": 11, "b": 12])])
    try library.add([Samples.asset(1)])
    #expect(try keptNames() == nil)
    try complete("a", "b")
    try library.catalog.configure([stage(2, ["a": 11, "b": 13, "c": 14])])
    #expect(try keptNames() == ["a"])
    try library.reopen()
    try library.catalog.configure([stage(2, ["a": 11, "b": 13, "c": 14])])
    #expect(try keptNames() == ["a"])
    // The parts of an unusable plugin are unknown, and stay as they were.
    try library.catalog.configure([stage(2, [:])])
    #expect(try keptNames() == ["a"])
    #expect(try library.integrity() == "ok")
  }

  @Test("A job is told of unchanged parts that have no rendition, unless no part has one")
  func without() throws {
    try library.catalog.configure([stage(1, ["a": 11, "b": 12, "none": 13])])
    try library.add([Samples.asset(1)])
    try complete("a", "b")
    func kept(_ stages: StageDefinition) throws -> KeptResult? {
      try library.catalog.configure([stages])
      let jobs = try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
      try library.catalog.requeue(jobs.map(\.token))
      return try #require(jobs.first).kept
    }
    #expect(try kept(stage(2, ["a": 11, "none": 13, "c": 14]))?.parts == ["a", "none"])
    #expect(try kept(stage(3, ["none": 13, "c": 14])) == nil)
  }

  @Test("In a library of which no parts are known, everything is made again")
  func unknown() throws {
    try library.catalog.configure([stage(1, [:])])
    try library.add([Samples.asset(1)])
    try complete("a")
    try library.catalog.configure([stage(2, ["a": 11])])
    #expect(try keptNames() == nil)
    try library.execute("UPDATE setting SET value = '[' WHERE key = '\(Setting.parts)'")
    try library.reopen()
    #expect(try keptNames() == nil)
  }

  @Test("Parts are known as long as there are rows of their fingerprint", .onlySQLite)
  func forgotten() throws {
    try library.catalog.configure([stage(1, ["a": 11])])
    try library.add([Samples.asset(1)])
    try complete("a")
    func count() throws -> Int {
      try library.count(
        "SELECT count(*) FROM json_each((SELECT value FROM setting WHERE key = '\(Setting.parts)'))"
      )
    }
    try library.catalog.configure([stage(2, ["a": 11, "b": 12])])
    #expect(try count() == 2)
    try complete("b")
    try library.catalog.configure([stage(3, ["a": 11, "c": 13])])
    #expect(try count() == 2)
    try library.catalog.configure([stage(3, ["a": 11, "c": 13])])
    #expect(try count() == 2)
  }

  @Test("A rendition that continues another has its key, and counts once")
  func continued() throws {
    try library.catalog.configure([stage(1, ["a": 11, "b": 12])])
    try library.add([Samples.asset(1)])
    try complete("a", "b")
    let before = try library.read { try $0.asset(Samples.id(1))?.renditions ?? [] }
    let old = try #require(before.first { $0.name == "a" })
    try library.catalog.configure([stage(2, ["a": 11])])
    let job = try #require(
      try library.catalog.claim(stage: "thumbnails", limit: 1, suspects: false).first)
    #expect(job.kept?.facts == ["a": 1])
    var rendition = Samples.rendition("a")
    rendition.former = try #require(job.kept?.renditions.first?.id)
    _ = try library.catalog.complete([
      Completion(
        token: job.token, outcome: .done(facts: ["a": 1], renditions: [rendition]), seconds: 0)
    ])
    try library.read { reader in
      let after = try reader.asset(Samples.id(1))?.renditions ?? []
      #expect(after.map(\.id) == [old.id] && after.map(\.isStale) == [false])
      #expect(try reader.renditionBytes(old.id) == [UInt8](repeating: 7, count: 64))
      let status = try reader.status()
      #expect(status.renditions == 1 && status.renditionBytes == 64)
    }
    // Its bytes have one place, the new one.
    #expect(try library.keptKeys() == library.namedKeys())
    #expect(try library.keptKeys().map(\.fingerprint) == [Samples.fingerprint(2)])
    #expect(try library.count("SELECT count(*) FROM ledger") == 1)
    #expect(try library.integrity() == "ok")
  }
}
