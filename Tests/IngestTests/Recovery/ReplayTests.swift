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

@Suite("Making the catalog from the manifest", .timeLimit(.minutes(1)))
struct ReplayTests {
  /// A library with a bit of everything.
  private func eventful() throws -> IngestFixture {
    let fixture = try IngestFixture(.copy, duplicates: .asset)
    let raw = BytePath(bytes: [0xFF, 0x0A, 0x2E, 0x6A])
    try fixture.write("one", to: "a")
    try fixture.write("two", to: "folder/b")
    try fixture.write("three", to: raw)
    try fixture.write("", to: "empty")
    try fixture.run()
    try fixture.write("four", to: "a")
    try fixture.write("two", to: "again")
    try fixture.run()
    fixture.source.mode = .move
    try fixture.write("five", to: "moved")
    try fixture.run()
    return fixture
  }

  @Test("Replayed into an empty catalog, every asset has its key, name, times and predecessor")
  func replay() throws {
    let fixture = try eventful()
    let expected = try fixture.assets()
    #expect(expected.count >= 6)
    let file = fixture.temporary.appending("other.sqlite")
    let catalog = try Catalog.create(at: file, libraryID: "other")
    let open = try Replay(
      catalog: catalog, manifest: Manifest(folder: fixture.layout.manifest)
    ).run()
    #expect(open.isEmpty)
    #expect(try catalog.manifestPosition == fixture.library().manifest.lastSequence)
    let reader = try CatalogReader.open(at: file, immutable: false)
    var replayed: [AssetRecord] = []
    try reader.assets { replayed.append($0) }
    #expect(replayed == expected)
    // Once more does no harm.
    try Replay(catalog: catalog, manifest: Manifest(folder: fixture.layout.manifest)).run()
    #expect(try reader.status().assets == expected.count)
    try reader.close()
    try catalog.close()
  }

  @Test("A rebuilt catalog takes the old one's place, which is kept, and nothing is taken again")
  func rebuild() throws {
    let fixture = try eventful()
    let expected = try fixture.assets()
    let sources = try filesBelow(fixture.source.path)
    let result = try fixture.rebuild()
    #expect(result.assets == expected.count)
    let old = try #require(result.oldCatalog)
    #expect(try Descriptor.open(old, flags: O_RDONLY).status().identity.size > 0)
    #expect(
      try Descriptor.openFolder(fixture.layout.root).entries().allSatisfy {
        !$0.name.description.contains("rebuilt")
      })
    #expect(try fixture.assets() == expected)
    fixture.source.mode = .copy
    let outcomes = try fixture.outcomes()
    #expect(!outcomes.values.contains(.imported))
    #expect(try fixture.assets() == expected)
    #expect(try filesBelow(fixture.source.path) == sources)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A library whose catalog is lost is refused with advice, and rebuilt on request")
  func lost() throws {
    let fixture = try eventful()
    let expected = try fixture.assets()
    fixture.close()
    let folder = try Descriptor.openFolder(fixture.layout.root)
    for entry in try folder.entries() where entry.name.description.hasPrefix("catalog.sqlite") {
      try folder.remove(entry.name)
    }
    let error = try #require(throws: CatalogError.self) { try fixture.library() }
    #expect(error.code == .missing)
    #expect(try fixture.rebuild().oldCatalog == nil)
    #expect(try fixture.assets() == expected)
  }

  @Test("A manifest with a hole is not rebuilt from, and the old catalog stays")
  func damagedManifest() throws {
    let fixture = try eventful()
    let expected = try fixture.assets()
    fixture.close()
    let folder = try Descriptor.openFolder(fixture.layout.manifest)
    var bytes = try folder.readFile("0001.jsonl")
    bytes[100] ^= 1
    try folder.writeDurably(bytes, as: "0001.jsonl")
    let error = try #require(throws: ManifestError.self) { try fixture.rebuild() }
    #expect(error.code == .damaged)
    #expect(try fixture.assets() == expected)
  }
}
