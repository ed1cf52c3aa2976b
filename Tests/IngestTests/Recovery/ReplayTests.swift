import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@Suite("Making the catalog from the manifest", .timeLimit(.minutes(1)))
struct ReplayTests {
  /// A library with a bit of everything.
  private func eventful() throws -> Scene {
    let scene = try Scene(.copy, duplicates: .asset)
    let raw = BytePath(bytes: [0xFF, 0x0A, 0x2E, 0x6A])
    try scene.write("one", to: "a")
    try scene.write("two", to: "folder/b")
    try scene.write("three", to: raw)
    try scene.write("", to: "empty")
    try scene.run()
    try scene.write("four", to: "a")
    try scene.write("two", to: "again")
    try scene.run()
    scene.source.mode = .move
    try scene.write("five", to: "moved")
    try scene.run()
    return scene
  }

  @Test("Replayed into an empty catalog, every asset has its key, name, times and predecessor")
  func replay() throws {
    let scene = try eventful()
    let expected = try scene.assets()
    #expect(expected.count >= 6)
    let file = scene.temporary.appending("other.sqlite")
    let catalog = try Catalog.create(at: file, libraryID: "other")
    let open = try Replay(
      catalog: catalog, manifest: Manifest(folder: scene.layout.manifest)
    ).run()
    #expect(open.isEmpty)
    #expect(try catalog.manifestPosition == scene.library().manifest.lastSequence)
    let reader = try CatalogReader.open(at: file, immutable: false)
    var replayed: [AssetRecord] = []
    try reader.assets { replayed.append($0) }
    #expect(replayed == expected)
    // Once more does no harm.
    try Replay(catalog: catalog, manifest: Manifest(folder: scene.layout.manifest)).run()
    #expect(try reader.status().assets == expected.count)
    try reader.close()
    try catalog.close()
  }

  @Test("A rebuilt catalog takes the old one's place, which is kept, and nothing is taken again")
  func rebuild() throws {
    let scene = try eventful()
    let expected = try scene.assets()
    let sources = try filesBelow(scene.source.path)
    let result = try scene.rebuild()
    #expect(result.assets == expected.count)
    let old = try #require(result.oldCatalog)
    #expect(try Descriptor.open(old, flags: O_RDONLY).status().identity.size > 0)
    #expect(
      try Descriptor.openFolder(scene.layout.root).entries().allSatisfy {
        !$0.name.description.contains("rebuilt")
      })
    #expect(try scene.assets() == expected)
    scene.source.mode = .copy
    let outcomes = try scene.outcomes()
    #expect(!outcomes.values.contains(.imported))
    #expect(try scene.assets() == expected)
    #expect(try filesBelow(scene.source.path) == sources)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A library whose catalog is lost is refused with advice, and rebuilt on request")
  func lost() throws {
    let scene = try eventful()
    let expected = try scene.assets()
    scene.close()
    let folder = try Descriptor.openFolder(scene.layout.root)
    for entry in try folder.entries() where entry.name.description.hasPrefix("catalog.sqlite") {
      try folder.remove(entry.name)
    }
    let error = try #require(throws: IngestError.self) { try scene.library() }
    #expect(error.code == .catalog)
    #expect(try scene.rebuild().oldCatalog == nil)
    #expect(try scene.assets() == expected)
  }

  @Test("A manifest with a hole is not rebuilt from, and the old catalog stays")
  func damagedManifest() throws {
    let scene = try eventful()
    let expected = try scene.assets()
    scene.close()
    let folder = try Descriptor.openFolder(scene.layout.manifest)
    var bytes = try folder.readFile("0001.jsonl")
    bytes[100] ^= 1
    try folder.writeDurably(bytes, as: "0001.jsonl")
    let error = try #require(throws: IngestError.self) { try scene.rebuild() }
    #expect(error.code == .manifest)
    #expect(try scene.assets() == expected)
  }
}
