import Files
import Fixtures
import Hashing
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog
@testable import Web

/// Places of assets in a search.
@Suite("Surroundings", .timeLimit(.minutes(1)))
struct SurroundingsTests {
  /// Some are not found.
  private static let count = 1700

  private static func key(_ number: Int) throws -> AssetID {
    let bytes = [UInt8](repeating: 0, count: 14) + [UInt8(number >> 8), UInt8(number & 0xFF)]
    return try #require(AssetID(bytes: bytes))
  }

  @Test("What is kept of a search tells the same places as counting", arguments: ["", "name:7"])
  func places(query: String) throws {
    let temporary = try TemporaryFolder()
    let layout = LibraryLayout(root: temporary.appending("library"))
    try LibraryFolder.make(layout, in: try Descriptor.openFolder(temporary.path))
    let marker = try LibraryFolder.open(layout).marker
    let catalog = try Catalog.create(at: layout.catalog, libraryID: marker.library)
    let changes = try (1...Self.count).map { number in
      CatalogChange.asset(
        NewAsset(
          id: try Self.key(number), digest: SHA256.digest(of: Array("\(number)".utf8)), size: 1,
          name: BytePath("\(number).jpg"), source: "/source", path: BytePath("\(number).jpg"),
          modified: 0, permissions: 0o644, importedAt: .now))
    }
    try catalog.apply(changes, manifestPosition: 1)
    try catalog.close()

    let library = try ReadableLibrary(layout)
    let disclosure = Disclosure(ConfiguredRenditions([]), hidden: [])
    let gallery = GallerySearch(query: query, sort: "imported")
    let outlines = OutlineCache()
    let entry = try JSONAnswers(sources: [], disclosure: disclosure)
      .grid(gallery, in: library, keptIn: outlines)
    let search = try gallery.search(in: library, disclosure)
    var keys: [AssetID] = []
    try search.run(in: library.catalog, damaged: [], need: .keys) { id, _ in keys.append(id) }
    #expect(entry.count == keys.count && entry.keys.count == (keys.count + 511) / 512)
    #expect(query.isEmpty ? keys.count == Self.count : keys.count > 400)
    for index in [0, 1, 510, 511, 512, 513, 1023, 1024, 1025, keys.count - 2, keys.count - 1] {
      guard keys.indices.contains(index) else { continue }
      let expected = Surroundings(
        index: index, previous: index == 0 ? nil : keys[index - 1],
        next: index + 1 == keys.count ? nil : keys[index + 1])
      for kept in [entry, nil] {
        let found = try library.surroundings(of: keys[index], in: search, kept)
        #expect(found == expected, "\(index), \(kept == nil ? "counted" : "kept")")
      }
    }
    for kept in [entry, nil] {
      #expect(try library.surroundings(of: Self.key(0), in: search, kept) == nil)
    }
  }
}
