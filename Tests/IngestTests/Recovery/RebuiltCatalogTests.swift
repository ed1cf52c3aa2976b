import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("The first run after a rebuild", .timeLimit(.minutes(1)))
struct RebuiltCatalogTests {
  /// More than may always be missing.
  private static let many = MissingShare.alwaysAllowed + 10

  private func scene(_ mode: SourceConfiguration.Mode) throws -> Scene {
    let scene = try Scene(mode)
    for number in 0..<Self.many { try scene.write("file \(number)", to: BytePath("\(number)")) }
    try scene.run()
    return scene
  }

  @Test("Files of assets that were deleted for good are not missed")
  func purged() throws {
    let scene = try scene(.move)
    try scene.purge(try scene.assets().map(\.id))
    _ = try scene.rebuild()
    #expect(try scene.run().isEmpty)
    #expect(try scene.problems(unlocked: true).isEmpty)
  }

  @Test("A file that is there although its asset was deleted is neither taken nor removed")
  func purgedAndThere() throws {
    let scene = try Scene(.copy)
    try scene.write("bytes", to: "a")
    try scene.run()
    try scene.purge(try scene.assets().map(\.id))
    for mode in SourceConfiguration.Mode.allCases {
      scene.source.mode = mode
      _ = try scene.rebuild()
      #expect(try scene.run().isEmpty)
      #expect(scene.exists("a"))
    }
  }

  @Test("Files that had gone from a copied source are recorded as gone, once without a question")
  func goneBefore() throws {
    let scene = try scene(.copy)
    for number in 0..<Self.many { try scene.remove(BytePath("\(number)")) }
    // They were recorded as gone one by one; the manifest knows nothing of it.
    _ = try scene.rebuild()
    #expect(Set(try scene.outcomes().values) == [.gone])
    for number in 0..<Self.many { try scene.write("new \(number)", to: BytePath("n\(number)")) }
    try scene.run()
    for number in 0..<Self.many { try scene.remove(BytePath("n\(number)")) }
    let error = try #require(throws: IngestError.self) { try scene.run() }
    #expect(error.message.contains("--accept-missing"))
  }

  @Test("A duplicate that a later run kept is taken when the first run is undone, rebuilt or not")
  func keptDuplicate() throws {
    for isRebuilt in [false, true] {
      let scene = try Scene(duplicates: .keep)
      try scene.write("bytes", to: "a")
      let first = try scene.recordedRun()
      try scene.write("bytes", to: "b")
      let second = try scene.recordedRun()
      try scene.undo(first)
      if isRebuilt { _ = try scene.rebuild() }
      #expect(try scene.outcomes() == ["b": .imported])
      #expect(try scene.assets().map(\.name) == ["b"])
      // The run that imported nothing is not taken for the last one that did.
      if isRebuilt {
        #expect(try scene.library().reader.run(second)?.counters == ["imported": 0])
      }
    }
  }
}
