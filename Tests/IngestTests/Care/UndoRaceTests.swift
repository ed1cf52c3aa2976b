import Catalog
import Configuration
import Fixtures
import Ingest
import PipelineModel
import Synchronization
import Testing

@Suite("Files that come while others are given back", .timeLimit(.minutes(1)))
struct UndoRaceTests {
  @Test(
    "A file that takes the place after the look at it is not replaced, however the other comes back",
    arguments: [false, true])
  func newcomer(isShared: Bool) throws {
    let scene = try Scene(duplicates: .asset)
    if isShared {
      // Its bytes are still needed, so they are copied.
      try scene.write("mine", to: "first")
      try scene.recordedRun()
    }
    try scene.write("mine", to: "a")
    let run = try scene.recordedRun()
    // The first question is asked before anything is done, the second while the original is read,
    // when its place has been looked at.
    let questions = Mutex(0)
    scene.report.events = []
    let undo = Undo(library: try scene.library(), report: scene.report)
    let result = try undo.undo(run) {
      let question = questions.withLock { questions in
        questions += 1
        return questions
      }
      // What can't be written is missed below.
      if question == 2 { _ = try? scene.write("newcomer", to: "a") }
      return false
    }
    #expect(result.failed == 1 && result.returned == 0)
    #expect(scene.report.events.first?.reason?.contains("is in its place now") == true)
    #expect(try filesBelow(scene.source.path) == ["a": Array("newcomer".utf8)])
    #expect(try scene.assets().contains { $0.name == "a" } && scene.problems().isEmpty)
    try scene.remove("a")
    #expect(try scene.undo(run).mapValues(\.outcome) == ["a": .returned])
    #expect(try filesBelow(scene.source.path) == ["a": Array("mine".utf8)])
  }
}
