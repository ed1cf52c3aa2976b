import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("Libraries are no sources", .timeLimit(.minutes(1)))
struct LibraryFenceTests {
  /// A library of somebody else, within the source.
  private func sceneWithLibrary(_ mode: SourceConfiguration.Mode = .move) throws -> Scene {
    let scene = try Scene(mode)
    try scene.write("mine", to: "mine")
    let other = LibraryLayout(root: scene.path("other"))
    try LibraryFolder.make(other, in: try Descriptor.openFolder(scene.source.path))
    try scene.write("theirs", to: "other/originals/theirs")
    return scene
  }

  @Test("A library in a source is passed over by a run and by a watch")
  func passedOver() throws {
    let scene = try sceneWithLibrary()
    let before = try filesBelow(scene.path("other"))
    #expect(try scene.outcomes() == ["mine": .imported, "other": .ignored])
    #expect(try scene.sighting("other/")?.reason == "a library")
    #expect(try filesBelow(scene.path("other")) == before)
    let fence = try scene.library().fence()
    let root = try Descriptor.openFolder(scene.source.path)
    var tree = try FolderTree(
      root, configuration: scene.source, fence: fence, inotify: Inotify())
    var dirty = DirtyPaths()
    tree.watchAll(listsFiles: true, into: &dirty)
    #expect(dirty.paths.isEmpty && tree.count == 1)
  }

  @Test("A source that is a library, or is inside one, is refused", arguments: ["", "/originals"])
  func refused(below: String) throws {
    let scene = try sceneWithLibrary()
    scene.source.path = scene.path(BytePath("other\(below)"))
    let error = try #require(throws: IngestError.self) { try scene.run() }
    #expect(error.code == .source && error.message.contains("is a library, or inside one"))
  }

  @Test("A file of another library is imported all the same, which removes nothing")
  func imported() throws {
    let scene = try sceneWithLibrary()
    let path = scene.path("other/originals/theirs")
    #expect(try scene.importFile(path)?.outcome == .imported)
    let own = try scene.assets()[0]
    #expect(try scene.importFile(scene.original("theirs"))?.outcome == .failed)
    #expect(try scene.assets().map(\.id) == [own.id])
  }

  @Test("A folder with a library.json of another program is a folder")
  func otherProgram() throws {
    let scene = try Scene()
    try scene.write("{}", to: "books/library.json")
    #expect(try scene.outcomes() == ["books/library.json": .imported])
  }
}
