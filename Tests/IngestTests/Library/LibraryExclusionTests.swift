import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Libraries are no sources", .timeLimit(.minutes(1)))
struct LibraryExclusionTests {
  /// A library of somebody else, within the source.
  private func sceneWithLibrary(_ mode: SourceConfiguration.Mode = .move) throws -> IngestFixture {
    let fixture = try IngestFixture(mode)
    try fixture.write("mine", to: "mine")
    let other = LibraryLayout(root: fixture.path("other"))
    try LibraryFolder.make(other, in: try Descriptor.openFolder(fixture.source.path))
    try fixture.write("theirs", to: "other/originals/theirs")
    return fixture
  }

  @Test("A library in a source is passed over by a run and by a watch")
  func passedOver() throws {
    let fixture = try sceneWithLibrary()
    let before = try filesBelow(fixture.path("other"))
    #expect(try fixture.outcomes() == ["mine": .imported, "other": .ignored])
    #expect(try fixture.sighting("other/")?.reason == "a library")
    #expect(try filesBelow(fixture.path("other")) == before)
    let exclusion = try fixture.library().exclusion()
    let root = try Descriptor.openFolder(fixture.source.path)
    var tree = try FolderTree(
      root, configuration: fixture.source, exclusion: exclusion, inotify: Inotify())
    var dirty = DirtyPaths()
    tree.watchAll(listsFiles: true, into: &dirty)
    #expect(dirty.paths.isEmpty && tree.count == 1)
  }

  @Test("A source that is a library, or is inside one, is refused", arguments: ["", "/originals"])
  func refused(below: String) throws {
    let fixture = try sceneWithLibrary()
    fixture.source.path = fixture.path(BytePath("other\(below)"))
    let error = try #require(throws: IngestError.self) { try fixture.run() }
    #expect(error.code == .source && error.message.contains("is a library, or inside one"))
  }

  @Test("A file of another library is imported all the same, which removes nothing")
  func imported() throws {
    let fixture = try sceneWithLibrary()
    let path = fixture.path("other/originals/theirs")
    #expect(try fixture.importFile(path)?.outcome == .imported)
    let own = try fixture.assets()[0]
    #expect(try fixture.importFile(fixture.original("theirs"))?.outcome == .failed)
    #expect(try fixture.assets().map(\.id) == [own.id])
  }

  @Test("A folder with a library.json of another program is a folder")
  func otherProgram() throws {
    let fixture = try IngestFixture()
    try fixture.write("{}", to: "books/library.json")
    #expect(try fixture.outcomes() == ["books/library.json": .imported])
  }
}
