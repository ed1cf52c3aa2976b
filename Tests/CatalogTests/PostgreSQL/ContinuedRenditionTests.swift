import Fixtures
import PipelineModel
import Records
import Testing

@testable import Catalog

/// Renditions of a stale result whose bytes stay where they are, in PostgreSQL's table.
@Suite(
  "Continued renditions in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct ContinuedRenditionTests {
  private let library: Library

  init() throws {
    library = try TestedDatabase.$current.withValue(.postgreSQL) { try Library() }
    try library.catalog.configure([Self.stage(1, ["a": 11, "b": 12])])
  }

  private static func stage(_ number: Int, _ parts: [String: Int]) -> StageDefinition {
    var stage = Samples.stage("thumbnails", plugin: "thumbnail", fingerprint: number)
    stage.parts = parts.mapValues { Samples.fingerprint($0) }
    return stage
  }

  private func claim() throws -> [ClaimedJob] {
    try library.catalog.claim(stage: "thumbnails", limit: 9, suspects: false)
  }

  private func complete(_ job: ClaimedJob, _ renditions: [NewRendition]) throws {
    _ = try library.catalog.complete([
      Completion(
        token: job.token, outcome: .done(facts: [:], renditions: renditions), seconds: 1)
    ])
  }

  /// Has a job keep one rendition, and make nothing.
  private func keep(_ name: String, of job: ClaimedJob) throws {
    let former = try #require(job.kept?.renditions.first { $0.name == name })
    #expect(try library.catalog.size(ofRendition: former.id) == 64)
    var rendition = Samples.rendition(name)
    (rendition.content, rendition.former) = (.former, former.id)
    try complete(job, [rendition])
  }

  private func bytes(of rendition: Int64) throws -> [UInt8]? {
    try library.read { try $0.renditionBytes(rendition) }
  }

  private static let content = [UInt8](repeating: 7, count: 64)

  @Test("They are not written again")
  func unmoved() throws {
    try library.add([Samples.asset(1)])
    for job in try claim() { try complete(job, [Samples.rendition("a"), Samples.rendition("b")]) }
    let old = try #require(try library.renditions().first { $0.name == "a" })
    // The transaction that wrote the row last.
    let writer = """
      SELECT CAST(CAST(xmin AS text) AS bigint) FROM rendition_bytes WHERE rendition = \(old.id)
      """
    let before = try library.count(writer)
    try library.catalog.configure([Self.stage(2, ["a": 11])])
    try keep("a", of: try #require(try claim().first))
    #expect(try library.renditions().map(\.id) == [old.id])
    #expect(try library.count(writer) == before)
    #expect(try bytes(of: old.id) == Self.content)
    #expect(try library.count("SELECT count(*) FROM rendition_bytes") == 1)
    #expect(try library.integrity() == "ok")
  }

  @Test("They are copied if another job needs the old result as well")
  func copied() throws {
    try library.catalog.configure([Self.stage(1, ["a": 11]), Self.other(1, ["a": 11])])
    try library.add([Samples.asset(1)])
    for job in try claim() { try complete(job, [Samples.rendition("a")]) }
    #expect(try library.renditions().count == 1)
    try library.catalog.configure([Self.stage(2, ["a": 11]), Self.other(1, ["a": 11])])
    try keep("a", of: try #require(try claim().first))
    let all = try library.renditions()
    #expect(all.count == 2)
    for rendition in all { #expect(try bytes(of: rendition.id) == Self.content) }
    #expect(try library.integrity() == "ok")
  }

  /// Another stage with the same results.
  private static func other(_ number: Int, _ parts: [String: Int]) -> StageDefinition {
    var stage = stage(number, parts)
    stage.name = "others"
    return stage
  }

  @Test("A job that was to keep bytes that are gone is ready again, and lost no attempt")
  func gone() throws {
    try library.add([Samples.asset(1)])
    for job in try claim() { try complete(job, [Samples.rendition("a")]) }
    try library.catalog.configure([Self.stage(2, ["a": 11])])
    let job = try #require(try claim().first)
    let former = try #require(job.kept?.renditions.first)
    try library.catalog.invalidate(rendition: former.id)
    var rendition = Samples.rendition("a")
    (rendition.content, rendition.former) = (.former, former.id)
    try complete(job, [rendition])
    #expect(try library.renditions().isEmpty)
    let next = try #require(try claim().first)
    #expect(next.kept == nil && next.attempt == 1)
    try complete(next, [Samples.rendition("a")])
    #expect(try library.renditions().count == 1)
    #expect(try library.integrity() == "ok")
  }

  @Test("A reader takes small ones with their record, and large ones when they are asked for")
  func reading() throws {
    try library.add([Samples.asset(1)])
    for job in try claim() { try complete(job, [Samples.rendition("a")]) }
    let id = try #require(try library.renditions().first?.id)
    try library.read { reader in
      for (most, isRead) in [(64, true), (63, false), (0, false)] {
        let stored = try #require(try reader.storedRendition(id, most: most))
        if case .bytes = stored.source { #expect(isRead) } else { #expect(!isRead) }
        #expect(try reader.bytes(of: stored) == Self.content)
        #expect(stored.record.stage.isEmpty)
      }
      let named = try #require(try reader.storedRendition(id, most: 0, withStage: true))
      #expect(named.record.stage == "thumbnails")
    }
  }
}
