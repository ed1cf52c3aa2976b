import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Undo and duplicates that another run let go", .timeLimit(.minutes(1)))
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

  @Test("Bytes for which a run that was still open let another file go stay, too")
  func overlappingRun() throws {
    let fixture = try IngestFixture()
    // As a `watch`, while files are imported by name or on another machine.
    let earlier = try fixture.library().ids.next()
    let watch = RunRecord(id: earlier, verb: "watch", startedAt: .now)
    try fixture.library().catalog.beginRun(watch)
    try fixture.write("bytes", to: "a")
    let later = try fixture.recordedRun()
    try fixture.write("bytes", to: "b")
    try fixture.library().run = earlier
    try fixture.run()
    try fixture.library().run = nil
    #expect(!fixture.exists("b"))
    let events = try fixture.undo(later)
    #expect(events["a"]?.outcome == .failed)
    #expect(events["a"]?.reason?.contains("/b”") == true)
    #expect(try fixture.assets().map(\.name) == ["a"])
    // Also where the catalog was made anew.
    _ = try fixture.rebuild()
    #expect(try fixture.undo(later)["a"]?.outcome == .failed)
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
