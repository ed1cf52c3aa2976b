import Catalog
import Configuration
import Fixtures
import Ingest
import PipelineModel
import Records
import Synchronization
import Testing

@Suite("Files that come while others are given back", .timeLimit(.minutes(1)))
struct UndoRaceTests {
  @Test(
    "A file that takes the place after the look at it is not replaced, however the other comes back",
    arguments: [false, true])
  func newcomer(isShared: Bool) throws {
    let fixture = try IngestFixture(duplicates: .asset)
    if isShared {
      // Its bytes are still needed, so they are copied.
      try fixture.write("mine", to: "first")
      try fixture.recordedRun()
    }
    try fixture.write("mine", to: "a")
    let run = try fixture.recordedRun()
    // The first question is asked before anything is done, the second while the original is read,
    // when its place has been looked at.
    let questions = Mutex(0)
    fixture.report.events = []
    let undo = Undo(library: try fixture.library(), sources: [], report: fixture.report)
    let result = try undo.undo(run) {
      let question = questions.withLock { questions in
        questions += 1
        return questions
      }
      // What can't be written is missed below.
      if question == 2 { _ = try? fixture.write("newcomer", to: "a") }
      return false
    }
    #expect(result.failed == 1 && result.returned == 0)
    #expect(fixture.report.events.first?.reason?.contains("is in its place now") == true)
    #expect(try filesBelow(fixture.source.path) == ["a": Array("newcomer".utf8)])
    #expect(try fixture.assets().contains { $0.name == "a" } && fixture.problems().isEmpty)
    try fixture.remove("a")
    #expect(try fixture.undo(run).mapValues(\.outcome) == ["a": .returned])
    #expect(try filesBelow(fixture.source.path) == ["a": Array("mine".utf8)])
  }
}
