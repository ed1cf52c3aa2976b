import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Records
import Testing

@Suite("Sources that are copied from", .timeLimit(.minutes(1)))
struct CopiedSourceTests {
  @Test("New content at a known path makes an asset that supersedes the old one")
  func supersedes() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    let first = try #require(try fixture.run()["a"]?.asset)
    try fixture.write("two", to: "a")
    let second = try #require(try fixture.run()["a"])
    #expect(second.outcome == .imported)
    let assets = try fixture.assets()
    #expect(assets.map(\.id) == [first, second.asset])
    #expect(assets.map(\.supersedes) == [nil, first])
    #expect(try filesBelow(fixture.layout.originals).count == 2)
    #expect(try fixture.sighting("a")?.asset == second.asset)
  }

  @Test("In mode “move” a new file at an old path has nothing to do with the old one")
  func movedAgain() throws {
    let fixture = try IngestFixture(.move)
    for text in ["one", "two"] {
      try fixture.write(text, to: "a")
      try fixture.run()
    }
    #expect(try fixture.assets().map(\.supersedes) == [nil, nil])
  }

  @Test("A file that was only touched is no duplicate of itself, and is read once")
  func touched() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    try Descriptor.open(fixture.path("a"), flags: O_WRONLY).setModified(1)
    #expect(try fixture.outcomes() == ["a": .duplicate])
    #expect(try fixture.sighting("a")?.state == .imported)
    #expect(try fixture.sighting("a")?.identity?.modified == 1)
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 1)
  }

  @Test(
    "A renamed file is known again, and its old path says where it went",
    arguments: [
      ("old", "new"), ("new", "old"),
    ])
  func renamed(from: String, to: String) throws {
    let fixture = try IngestFixture(.copy)
    let (from, to) = (BytePath(from), BytePath(to))
    try fixture.write("one", to: from)
    let asset = try #require(try fixture.run()[from]?.asset)
    let folder = try Descriptor.openFolder(fixture.source.path)
    try folder.rename(from, to: folder, as: to)
    let events = try fixture.run()
    #expect(events[to]?.asset == asset)
    #expect(events[to]?.reason?.contains("renamed from") == true)
    #expect(try fixture.sighting(to)?.state == .imported)
    let old = try #require(try fixture.sighting(from))
    #expect(old.state == .gone && old.reason?.contains("renamed to") == true)
    #expect(try fixture.assets().count == 1)
    #expect(try fixture.run().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("A file that went is gone, told once, and its bytes stay")
  func gone() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    try fixture.remove("a")
    #expect(try fixture.outcomes() == ["a": .gone])
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 1)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A file that comes back unchanged is what it was, without being read or told")
  func back() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    let asset = try #require(try fixture.sighting("a")?.asset)
    let (folder, away) = try (
      Descriptor.openFolder(fixture.source.path), Descriptor.openFolder(fixture.temporary.path)
    )
    try folder.rename("a", to: away, as: "away")
    #expect(try fixture.outcomes() == ["a": .gone])
    try away.rename("away", to: folder, as: "a")
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.sighting("a")?.state == .imported)
    #expect(try fixture.sighting("a")?.asset == asset)
    #expect(try fixture.run().isEmpty)
  }

  @Test("A whole source that is empty for once makes nothing be forgotten")
  func emptySource() throws {
    let fixture = try IngestFixture(.copy)
    for number in 0..<20 { try fixture.write("\(number)", to: BytePath("f\(number)")) }
    try fixture.run()
    let away = fixture.temporary.appending("away")
    try #require(rename("\(fixture.source.path)", "\(away)") == 0)
    try #require(mkdir("\(fixture.source.path)", 0o700) == 0)
    #expect(try fixture.outcomes().values.allSatisfy { $0 == .gone })
    try #require(rmdir("\(fixture.source.path)") == 0)
    try #require(rename("\(away)", "\(fixture.source.path)") == 0)
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 20)
  }

  @Test("A source that is missing is refused, and nothing about its files is changed")
  func missingSource() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    let away = fixture.temporary.appending("away")
    try #require(rename("\(fixture.source.path)", "\(away)") == 0)
    let error = try #require(throws: IngestError.self) { try fixture.run() }
    #expect(error.code == .source && error.path == fixture.source.path)
    #expect(try fixture.sighting("a")?.state == .imported)
  }
}
