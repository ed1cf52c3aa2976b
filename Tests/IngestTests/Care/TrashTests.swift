import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@Suite("The trash", .timeLimit(.minutes(1)))
struct TrashTests {
  private func scene(
    _ mode: SourceConfiguration.Mode = .move,
    _ policy: SourceConfiguration.Duplicates = .discard
  ) throws -> Scene {
    let scene = try Scene(mode, duplicates: policy)
    for name: BytePath in ["a", "b"] { try scene.write("\(name)", to: name) }
    try scene.run()
    return scene
  }

  @Test("What is put into the trash twice is in it once, and comes back once")
  func twice() throws {
    let scene = try scene()
    let assets = try scene.assets().map(\.id)
    let trash = Trash(library: try scene.library(), report: scene.report)
    #expect(try trash.trash([assets[0], assets[0], scene.library().ids.next()]) == 1)
    #expect(try trash.trash(assets) == 1)
    #expect(try scene.assets().allSatisfy { $0.state == .trashed })
    let commits = scene.report.commits
    #expect(try trash.restore([assets[0], assets[0]]) == 1)
    #expect(try trash.restore([assets[0]]) == 0)
    #expect(scene.report.commits > commits)
    #expect(try scene.assets().map(\.state) == [.done, .trashed])
    #expect(try scene.problems().isEmpty)
  }

  @Test("What is deleted for good goes from the catalog, and its bytes wait")
  func empty() throws {
    let scene = try scene()
    let assets = try scene.assets().map(\.id)
    // Each lets the library go, which is rebuilt below.
    _ = try Trash(library: scene.library(), report: scene.report).trash([assets[0]])
    for expected in [TrashEmptied(assets: 1, bytes: 1), TrashEmptied()] {
      #expect(try Trash(library: scene.library(), report: scene.report).empty() == expected)
    }
    #expect(try scene.assets().map(\.id) == [assets[1]])
    #expect(try filesBelow(scene.layout.originals).count == 2)
    #expect(try scene.problems().isEmpty)
    _ = try scene.rebuild()
    #expect(try scene.assets().map(\.id) == [assets[1]])
    #expect(try scene.problems().isEmpty)
  }

  @Test("A kill between the fact and the catalog is made good")
  func interrupted() throws {
    let scene = try scene()
    let asset = try scene.assets()[0]
    let time = try scene.library().manifest.append([
      .trashed(asset: asset.id), .purged(asset: asset.id, digest: asset.digest),
    ])
    #expect(time > 0)
    scene.close()
    #expect(try scene.assets().count == 1)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A file that was copied is not taken again because its asset was deleted")
  func notAgain() throws {
    let scene = try scene(.copy)
    try scene.purge([scene.assets()[0].id])
    #expect(try scene.run().isEmpty)
    #expect(try scene.sighting("a")?.reason != nil)
    _ = try scene.rebuild()
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 1)
    // What changes is taken, and so is what is named to `import`.
    #expect(try scene.importFile(scene.path("a"))?.outcome == .imported)
    try scene.purge([scene.assets()[0].id])
    try scene.write("changed", to: "b")
    #expect(try scene.outcomes() == ["b": .imported])
    #expect(try scene.problems().isEmpty)
  }

  @Test(
    "A duplicate takes its asset out of the trash, unless it makes one of its own",
    arguments: SourceConfiguration.Duplicates.allCases)
  func restored(policy: SourceConfiguration.Duplicates) throws {
    let scene = try scene(.move, policy)
    let assets = try scene.assets().map(\.id)
    _ = try Trash(library: scene.library(), report: scene.report).trash(assets)
    for name: BytePath in ["again", "and again"] { try scene.write("a", to: name) }
    let events = try scene.run()
    if policy == .asset {
      #expect(try scene.assets().map(\.state) == [.trashed, .trashed, .done, .done])
    } else {
      #expect(events.values.allSatisfy { $0.outcome == .duplicate && $0.asset == assets[0] })
      #expect(events.values.count { $0.reason?.contains("restored") == true } == 1)
      #expect(try scene.assets().map(\.state) == [.done, .trashed])
    }
    let expected = try scene.assets()
    _ = try scene.rebuild()
    #expect(try scene.assets() == expected)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A copied file that is only touched stays in the trash; one that is named comes back")
  func touched() throws {
    let scene = try scene(.copy)
    let asset = try scene.assets()[0].id
    _ = try Trash(library: scene.library(), report: scene.report).trash([asset])
    try scene.write("a", to: "a")
    try scene.run()
    #expect(try scene.assets()[0].state == .trashed)
    let event = try #require(try scene.importFile(scene.path("a")))
    #expect(event.outcome == .duplicate && event.reason?.contains("restored") == true)
    #expect(try scene.assets()[0].state == .done)
  }
}
