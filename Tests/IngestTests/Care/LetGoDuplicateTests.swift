import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("Undo and duplicates that a later run let go", .timeLimit(.minutes(1)))
struct LetGoDuplicateTests {
  @Test("Bytes that a later run let another file go for stay in the library")
  func laterRun() throws {
    let scene = try Scene()
    try scene.write("bytes", to: "a")
    let first = try scene.recordedRun()
    try scene.write("bytes", to: "b")
    try scene.recordedRun()
    #expect(!scene.exists("b"))
    let events = try scene.undo(first)
    #expect(events["a"]?.outcome == .failed)
    #expect(events["a"]?.reason?.contains("/b”") == true)
    #expect(try scene.assets().map(\.name) == ["a"])
    #expect(try scene.problems(unlocked: true).isEmpty)
  }

  @Test("A file that the same run let go does not keep it from being undone")
  func sameRun() throws {
    let scene = try Scene()
    for name: BytePath in ["a", "b"] { try scene.write("bytes", to: name) }
    let run = try scene.recordedRun()
    #expect(try scene.undo(run)["a"]?.outcome == .returned)
    #expect(try scene.assets().isEmpty)
  }
}
