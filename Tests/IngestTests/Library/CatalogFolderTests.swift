import Catalog
import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Ingest

@Suite("Catalog folders outside of libraries", .timeLimit(.minutes(1)))
struct CatalogFolderTests {
  let temporary: TemporaryFolder
  let root: Descriptor
  let catalog: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    root = try Descriptor.openFolder(temporary.path)
    try root.makeFolder("catalog")
    catalog = try Descriptor.openFolder("catalog", in: root)
  }

  /// A library whose catalog is in the folder that all of them share.
  private func found(_ name: String, catalog: BytePath? = nil) throws -> LibraryFolder {
    let layout = LibraryLayout(
      root: temporary.appending(BytePath(name)), catalogFolder: catalog ?? self.catalog.path)
    try LibraryFolder.make(layout, in: root)
    return try LibraryFolder.open(layout)
  }

  private func open(_ library: LibraryFolder) throws -> IngestLibrary {
    try IngestLibrary(
      library, lock: library.lock(wait: IngestFixture.patience), reserve: 0,
      report: RecordingReport())
  }

  /// What is in the catalog's folder, with the bytes.
  private func content() throws -> [BytePath: [UInt8]] {
    var content: [BytePath: [UInt8]] = [:]
    for entry in try catalog.entries() where entry.name != "catalog.lock" {
      content[entry.name] = try catalog.readFile(entry.name)
    }
    return content
  }

  private func expectRefused(_ library: LibraryFolder, _ what: String) throws {
    let before = try content()
    let opening = try #require(throws: IngestError.self) { try open(library) }
    #expect(opening.code == .notALibrary && opening.message.contains(what), "\(opening.message)")
    #expect(throws: IngestError.self) {
      let lock = try library.lock(wait: IngestFixture.patience)
      try withExtendedLifetime(lock) { _ = try CatalogRebuild(library).run() }
    }
    #expect(throws: IngestError.self) { try CatalogFolder(of: library).check() }
    #expect(try content() == before)
  }

  @Test("The first library has it; another is refused, whatever is missing of the first's catalog")
  func shared() throws {
    let first = try found("first")
    try open(first).close()
    let second = try found("second")
    try expectRefused(second, first.marker.library)
    try catalog.rename("catalog.sqlite", to: root, as: "elsewhere")
    try expectRefused(second, first.marker.library)
    try root.rename("elsewhere", to: catalog, as: "catalog.sqlite")
    // From before there were markers.
    try catalog.remove("catalog.json")
    try expectRefused(second, first.marker.library)
    try open(first).close()
    #expect(try catalog.status(of: "catalog.json").kind == .regular)
  }

  @Test("A link to the library is the library's own folder")
  func link() throws {
    let link = temporary.appending("link")
    try #require(symlink("first", "\(link)") == 0)
    try root.makeFolder("first.catalog")
    let library = try found("first", catalog: temporary.appending("first.catalog"))
    let linked = LibraryFolder(
      layout: LibraryLayout(root: library.layout.root, catalogFolder: link),
      marker: library.marker, folder: library.folder)
    try open(linked).close()
    #expect(try library.folder.status(of: "catalog.sqlite").kind == .regular)
  }

  @Test("A log without its catalog is nobody's to go on with")
  func strayLog() throws {
    try catalog.writeDurably([1, 2, 3], as: "catalog.sqlite-wal")
    try expectRefused(try found("first"), "log")
  }

  @Test("A folder in another library is refused, one in the own library is not")
  func inside() throws {
    let other = try found("other", catalog: temporary.appending("other"))
    let within = other.layout.root.appending("renditions")
    let opening = try #require(throws: IngestError.self) {
      try open(found("first", catalog: within))
    }
    #expect(opening.message.contains("inside the library"))
    #expect(try Descriptor.openFolder(within).entries().isEmpty)
    let own = temporary.appending("second/work")
    try open(found("second", catalog: own)).close()
  }

  @Test("While a process works with it, no other library's comes in; then it is free")
  func locked() throws {
    let first = try found("first")
    let working = try open(first)
    try catalog.remove("catalog.json")
    let copy = LibraryFolder(
      layout: LibraryLayout(root: try found("copy").layout.root, catalogFolder: catalog.path),
      marker: first.marker, folder: try Descriptor.openFolder("copy", in: root))
    let error = try #require(throws: IngestError.self) { try CatalogFolder(of: copy).claim() }
    #expect(error.code == .locked)
    try working.close()
    _ = try CatalogFolder(of: copy).claim()
  }

  @Test("A log that a removed catalog left in a new library is put aside")
  func ownLog() throws {
    let library = try found("first", catalog: temporary.appending("first"))
    try library.folder.writeDurably([1, 2, 3], as: "catalog.sqlite-wal")
    try open(library).close()
    let names = try library.folder.entries().map(\.name.description)
    #expect(names.contains { $0.hasSuffix(".old-wal") })
  }
}
