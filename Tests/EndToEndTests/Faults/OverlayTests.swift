import Fixtures
import PipelineModel
import Testing

/// A library that another file system shows a second time.
@Suite(
  "Faults: a library that is shown twice", .timeLimit(.minutes(5)),
  .enabled(if: Namespace.isPossible, Namespace.reason))
struct OverlayTests {
  /// A library with two originals, whose inbox and `shown` are sources.
  private func filled() throws -> Workspace {
    let workspace = try Workspace(
      sources: [
        ["path": "inbox", "settle": "0ms", "mode": "move"],
        ["path": "shown", "settle": "0ms", "mode": "move"],
      ], stages: [])
    for name in ["low", "work", "shown"] {
      try workspace.makeFolder(workspace.root.appending(name))
    }
    try workspace.put("one", as: "1")
    try workspace.put("two", as: "2")
    #expect(try workspace.run("run").exitCode == 0)
    return workspace
  }

  @Test(
    "The originals of a library that an overlay shows as a source lose nothing", .about(.originals))
  func originals() throws {
    let workspace = try filled()
    let before = try workspace.files(below: workspace.library.appending("originals"))
    let script = """
      mount -t overlay o -o lowerdir=low,upperdir=library/originals,workdir=work shown; "$1" run
      """
    let outcome = try Namespace.run(script, in: workspace)
    #expect(try workspace.files(below: workspace.library.appending("originals")) == before)
    #expect(outcome.errors.contains("the stored original itself"))
    try workspace.expectSound()
  }
}
