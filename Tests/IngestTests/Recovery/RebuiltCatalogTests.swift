import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("The first run after a rebuild", .timeLimit(.minutes(1)))
struct RebuiltCatalogTests {
  /// More than may always be missing.
  private static let many = MissingFiles.alwaysAllowed + 10

  private func fixture(_ mode: SourceConfiguration.Mode) throws -> IngestFixture {
    let fixture = try IngestFixture(mode)
    for number in 0..<Self.many { try fixture.write("file \(number)", to: BytePath("\(number)")) }
    try fixture.run()
    return fixture
  }

  @Test("Files of assets that were deleted for good are not missed")
  func purged() throws {
    let fixture = try fixture(.move)
    try fixture.purge(try fixture.assets().map(\.id))
    _ = try fixture.rebuild()
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("A file that is there although its asset was deleted is neither taken nor removed")
  func purgedAndThere() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("bytes", to: "a")
    try fixture.run()
    try fixture.purge(try fixture.assets().map(\.id))
    for mode in SourceConfiguration.Mode.allCases {
      fixture.source.mode = mode
      _ = try fixture.rebuild()
      #expect(try fixture.run().isEmpty)
      #expect(fixture.exists("a"))
    }
  }

  @Test("Files that had gone from a copied source are recorded as gone, once without a question")
  func goneBefore() throws {
    let fixture = try fixture(.copy)
    for number in 0..<Self.many { try fixture.remove(BytePath("\(number)")) }
    // They were recorded as gone one by one; the manifest knows nothing of it.
    _ = try fixture.rebuild()
    #expect(Set(try fixture.outcomes().values) == [.gone])
    for number in 0..<Self.many { try fixture.write("new \(number)", to: BytePath("n\(number)")) }
    try fixture.run()
    for number in 0..<Self.many { try fixture.remove(BytePath("n\(number)")) }
    let error = try #require(throws: IngestError.self) { try fixture.run() }
    #expect(error.message.contains("--accept-missing"))
  }

  @Test("A duplicate that a later run kept is taken when the first run is undone, rebuilt or not")
  func keptDuplicate() throws {
    for isRebuilt in [false, true] {
      let fixture = try IngestFixture(duplicates: .keep)
      try fixture.write("bytes", to: "a")
      let first = try fixture.recordedRun()
      try fixture.write("bytes", to: "b")
      let second = try fixture.recordedRun()
      try fixture.undo(first)
      if isRebuilt { _ = try fixture.rebuild() }
      #expect(try fixture.outcomes() == ["b": .imported])
      #expect(try fixture.assets().map(\.name) == ["b"])
      // The run that imported nothing is not taken for the last one that did.
      if isRebuilt {
        #expect(try fixture.library().reader.run(second)?.counters == ["imported": 0])
      }
    }
  }
}
