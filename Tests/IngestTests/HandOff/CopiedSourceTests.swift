import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Testing

@Suite("Sources that are copied from", .timeLimit(.minutes(1)))
struct CopiedSourceTests {
  @Test("New content at a known path makes an asset that supersedes the old one")
  func supersedes() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    let first = try #require(try scene.run()["a"]?.asset)
    try scene.write("two", to: "a")
    let second = try #require(try scene.run()["a"])
    #expect(second.outcome == .imported)
    let assets = try scene.assets()
    #expect(assets.map(\.id) == [first, second.asset])
    #expect(assets.map(\.supersedes) == [nil, first])
    #expect(try filesBelow(scene.layout.originals).count == 2)
    #expect(try scene.sighting("a")?.asset == second.asset)
  }

  @Test("In mode “move” a new file at an old path has nothing to do with the old one")
  func movedAgain() throws {
    let scene = try Scene(.move)
    for text in ["one", "two"] {
      try scene.write(text, to: "a")
      try scene.run()
    }
    #expect(try scene.assets().map(\.supersedes) == [nil, nil])
  }

  @Test("A file that was only touched is no duplicate of itself, and is read once")
  func touched() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    try Descriptor.open(scene.path("a"), flags: O_WRONLY).setModified(1)
    #expect(try scene.outcomes() == ["a": .duplicate])
    #expect(try scene.sighting("a")?.state == .imported)
    #expect(try scene.sighting("a")?.identity?.modified == 1)
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 1)
  }

  @Test(
    "A renamed file is known again, and its old path says where it went",
    arguments: [
      ("old", "new"), ("new", "old"),
    ])
  func renamed(from: String, to: String) throws {
    let scene = try Scene(.copy)
    let (from, to) = (BytePath(from), BytePath(to))
    try scene.write("one", to: from)
    let asset = try #require(try scene.run()[from]?.asset)
    let folder = try Descriptor.openFolder(scene.source.path)
    try folder.rename(from, to: folder, as: to)
    let events = try scene.run()
    #expect(events[to]?.asset == asset)
    #expect(events[to]?.reason?.contains("renamed from") == true)
    #expect(try scene.sighting(to)?.state == .imported)
    let old = try #require(try scene.sighting(from))
    #expect(old.state == .gone && old.reason?.contains("renamed to") == true)
    #expect(try scene.assets().count == 1)
    #expect(try scene.run().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("A file that went is gone, told once, and its bytes stay")
  func gone() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    try scene.remove("a")
    #expect(try scene.outcomes() == ["a": .gone])
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 1)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A file that comes back unchanged is what it was, without being read or told")
  func back() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    let asset = try #require(try scene.sighting("a")?.asset)
    let (folder, away) = try (
      Descriptor.openFolder(scene.source.path), Descriptor.openFolder(scene.temporary.path)
    )
    try folder.rename("a", to: away, as: "away")
    #expect(try scene.outcomes() == ["a": .gone])
    try away.rename("away", to: folder, as: "a")
    #expect(try scene.run().isEmpty)
    #expect(try scene.sighting("a")?.state == .imported)
    #expect(try scene.sighting("a")?.asset == asset)
    #expect(try scene.run().isEmpty)
  }

  @Test("A whole source that is empty for once makes nothing be forgotten")
  func emptySource() throws {
    let scene = try Scene(.copy)
    for number in 0..<20 { try scene.write("\(number)", to: BytePath("f\(number)")) }
    try scene.run()
    let away = scene.temporary.appending("away")
    try #require(rename("\(scene.source.path)", "\(away)") == 0)
    try #require(mkdir("\(scene.source.path)", 0o700) == 0)
    #expect(try scene.outcomes().values.allSatisfy { $0 == .gone })
    try #require(rmdir("\(scene.source.path)") == 0)
    try #require(rename("\(away)", "\(scene.source.path)") == 0)
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 20)
  }

  @Test("A source that is missing is refused, and nothing about its files is changed")
  func missingSource() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    let away = scene.temporary.appending("away")
    try #require(rename("\(scene.source.path)", "\(away)") == 0)
    let error = try #require(throws: IngestError.self) { try scene.run() }
    #expect(error.code == .source && error.path == scene.source.path)
    #expect(try scene.sighting("a")?.state == .imported)
  }
}
