import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("Folders that were emptied", .timeLimit(.minutes(1)))
struct EmptiedFolderTests {
  @Test("While files come, an emptied folder goes only when nothing changed in it for a while")
  func rest() throws {
    let fixture = try IngestFixture()
    let temporary = try TemporaryFolder()
    let root = try Descriptor.openFolder(temporary.path)
    try root.makeFolder("a")
    let outer = try Descriptor.openFolder("a", in: root)
    try outer.makeFolder("b")
    let inner = try Descriptor.openFolder("b", in: outer)
    var configuration = SourceConfiguration(path: temporary.path)
    configuration.mode = .move
    configuration.emptyFolders = .remove
    let removal = SourceRemoval(
      source: try IngestSource(configuration, for: nil), library: try fixture.library(),
      report: fixture.report)
    removal.noteRemoved(from: inner.path)
    removal.removeEmptyFolders(unchangedFor: .seconds(60))
    #expect(try root.entries().map(\.name) == ["a"])
    let past = (Timestamp.now.microseconds - 120_000_000) * 1000
    try inner.setModified(past)
    removal.removeEmptyFolders(unchangedFor: .seconds(60))
    // The outer one has changed just now, by the loss of the inner one.
    #expect(try outer.entries() == [])
    #expect(try root.entries().map(\.name) == ["a"])
    try outer.setModified(past)
    removal.removeEmptyFolders(unchangedFor: .seconds(60))
    #expect(try root.entries() == [])
  }
}
