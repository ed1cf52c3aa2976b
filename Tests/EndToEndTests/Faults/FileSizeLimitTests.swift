import Fixtures
import PipelineModel
import Testing

/// A limit that the system sets a process.
@Suite("Faults: a limit of file sizes", .timeLimit(.minutes(5)))
struct FileSizeLimitTests {
  @Test("A limit of file sizes is an error of the file that is too large, not the program's end")
  func fileSize() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "move", "take": "copy"]])
    try workspace.put([UInt8](repeating: 7, count: 6 << 20), as: "large.bin")
    try workspace.put("small", as: "small.txt")
    workspace.program.prefix = ["prlimit", "--fsize=4194304", "--"]
    let events = try workspace.json("run", exit: 3)
    workspace.expectCountersAddUp(events)
    #expect(events.outcome("large.bin") == "failed" && events.outcome("small.txt") == "imported")
    #expect(try workspace.files(below: "inbox") == ["large.bin"])
    try workspace.expectSound()
    workspace.program.prefix = []
    #expect(try workspace.json("run").outcome("large.bin") == "imported")
    try workspace.expectSound()
  }
}
