import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Sources that the kernel tells no events of.
@Suite("Faults: file systems without events", .timeLimit(.minutes(5)))
struct NetworkTests {
  @Test("A source that says it is on NFS, SMB or FUSE is polled without being told to")
  func polled() throws {
    let shimFolder = try TemporaryFolder()
    let shim = try SystemShim(in: shimFolder.path)
    for (type, name) in [(0x6969, "NFS"), (0xFE53_4D42, "SMB"), (0x6573_5546, "FUSE")] {
      let workspace = try Workspace(
        sources: [["path": "inbox", "settle": "50ms", "mode": "move"]], ["rescan": "1s"])
      let clean = workspace.program.environment
      workspace.program.environment.merge(shim.fileSystem(of: "/inbox", type: type)) { $1 }
      let watch = try workspace.program.start(["watch", "--json"])
      func waitUntil(_ what: String, _ isSo: () throws -> Bool) throws {
        for _ in 0..<1500 where try !isSo() { usleep(20_000) }
        try #require(
          try isSo(),
          "\(what): \(String(decoding: watch.outputSoFar + watch.errorsSoFar, as: UTF8.self))")
      }
      try waitUntil("polling from \(name)") {
        let text = String(decoding: watch.outputSoFar, as: UTF8.self)
        return text.contains("\"polled\"") && text.contains(name)
      }
      try workspace.put("dropped", as: "a.txt")
      try waitUntil("the file") { try watch.eventsSoFar().outcome("a.txt") == "imported" }
      watch.signal(SIGTERM)
      #expect(try watch.wait(within: 15).exitCode == 143)
      workspace.program.environment = clean
      #expect(try workspace.assets().count == 1)
      try workspace.expectSound()
    }
  }
}
