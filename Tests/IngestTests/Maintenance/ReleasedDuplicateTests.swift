import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Undo and duplicates that a later run let go", .timeLimit(.minutes(1)))
struct ReleasedDuplicateTests {
  @Test("Bytes that a later run let another file go for stay in the library")
  func laterRun() throws {
    let fixture = try IngestFixture()
    try fixture.write("bytes", to: "a")
    let first = try fixture.recordedRun()
    try fixture.write("bytes", to: "b")
    try fixture.recordedRun()
    #expect(!fixture.exists("b"))
    let events = try fixture.undo(first)
    #expect(events["a"]?.outcome == .failed)
    #expect(events["a"]?.reason?.contains("/b”") == true)
    #expect(try fixture.assets().map(\.name) == ["a"])
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("A file that the same run let go does not keep it from being undone")
  func sameRun() throws {
    let fixture = try IngestFixture()
    for name: BytePath in ["a", "b"] { try fixture.write("bytes", to: name) }
    let run = try fixture.recordedRun()
    #expect(try fixture.undo(run)["a"]?.outcome == .returned)
    #expect(try fixture.assets().isEmpty)
  }
}
