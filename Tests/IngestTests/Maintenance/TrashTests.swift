import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Records
import Testing

@Suite("The trash", .timeLimit(.minutes(1)))
struct TrashTests {
  private func fixture(
    _ mode: SourceConfiguration.Mode = .move,
    _ policy: SourceConfiguration.Duplicates = .discard
  ) throws -> IngestFixture {
    let fixture = try IngestFixture(mode, duplicates: policy)
    for name: BytePath in ["a", "b"] { try fixture.write("\(name)", to: name) }
    try fixture.run()
    return fixture
  }

  @Test("What is put into the trash twice is in it once, and comes back once")
  func twice() throws {
    let fixture = try fixture()
    let assets = try fixture.assets().map(\.id)
    let trash = Trash(library: try fixture.library(), report: fixture.report)
    #expect(try trash.trash([assets[0], assets[0], fixture.library().ids.next()]) == 1)
    #expect(try trash.trash(assets) == 1)
    #expect(try fixture.assets().allSatisfy { $0.state == .trashed })
    let commits = fixture.report.commits
    #expect(try trash.restore([assets[0], assets[0]]) == 1)
    #expect(try trash.restore([assets[0]]) == 0)
    #expect(fixture.report.commits > commits)
    #expect(try fixture.assets().map(\.state) == [.done, .trashed])
    #expect(try fixture.problems().isEmpty)
  }

  @Test("What is deleted for good goes from the catalog, and its bytes wait")
  func empty() throws {
    let fixture = try fixture()
    let assets = try fixture.assets().map(\.id)
    // Each lets the library go, which is rebuilt below.
    _ = try Trash(library: fixture.library(), report: fixture.report).trash([assets[0]])
    for expected in [TrashEmptied(assets: 1, bytes: 1), TrashEmptied()] {
      #expect(try Trash(library: fixture.library(), report: fixture.report).empty() == expected)
    }
    #expect(try fixture.assets().map(\.id) == [assets[1]])
    #expect(try filesBelow(fixture.layout.originals).count == 2)
    #expect(try fixture.problems().isEmpty)
    _ = try fixture.rebuild()
    #expect(try fixture.assets().map(\.id) == [assets[1]])
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A kill between the fact and the catalog is made good")
  func interrupted() throws {
    let fixture = try fixture()
    let asset = try fixture.assets()[0]
    let time = try fixture.library().manifest.append([
      .trashed(asset: asset.id), .purged(asset: asset.id, digest: asset.digest),
    ])
    #expect(time > 0)
    fixture.close()
    #expect(try fixture.assets().count == 1)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A file that was copied is not taken again because its asset was deleted")
  func notAgain() throws {
    let fixture = try fixture(.copy)
    try fixture.purge([fixture.assets()[0].id])
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.sighting("a")?.reason != nil)
    _ = try fixture.rebuild()
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 1)
    // What changes is taken, and so is what is named to `import`.
    #expect(try fixture.importFile(fixture.path("a"))?.outcome == .imported)
    try fixture.purge([fixture.assets()[0].id])
    try fixture.write("changed", to: "b")
    #expect(try fixture.outcomes() == ["b": .imported])
    #expect(try fixture.problems().isEmpty)
  }

  @Test(
    "A duplicate takes its asset out of the trash, unless it makes one of its own",
    arguments: SourceConfiguration.Duplicates.allCases)
  func restored(policy: SourceConfiguration.Duplicates) throws {
    let fixture = try fixture(.move, policy)
    let assets = try fixture.assets().map(\.id)
    _ = try Trash(library: fixture.library(), report: fixture.report).trash(assets)
    for name: BytePath in ["again", "and again"] { try fixture.write("a", to: name) }
    let events = try fixture.run()
    if policy == .asset {
      #expect(try fixture.assets().map(\.state) == [.trashed, .trashed, .done, .done])
    } else {
      #expect(events.values.allSatisfy { $0.outcome == .duplicate && $0.asset == assets[0] })
      #expect(events.values.count { $0.reason?.contains("restored") == true } == 1)
      #expect(try fixture.assets().map(\.state) == [.done, .trashed])
    }
    let expected = try fixture.assets()
    _ = try fixture.rebuild()
    #expect(try fixture.assets() == expected)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A copied file that is only touched stays in the trash; one that is named comes back")
  func touched() throws {
    let fixture = try fixture(.copy)
    let asset = try fixture.assets()[0].id
    _ = try Trash(library: fixture.library(), report: fixture.report).trash([asset])
    try fixture.write("a", to: "a")
    try fixture.run()
    #expect(try fixture.assets()[0].state == .trashed)
    let event = try #require(try fixture.importFile(fixture.path("a")))
    #expect(event.outcome == .duplicate && event.reason?.contains("restored") == true)
    #expect(try fixture.assets()[0].state == .done)
  }
}
