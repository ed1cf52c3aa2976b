import Dispatch
import Fixtures
import PipelineModel
import Testing

/// How `serve` makes room for imports.
@Suite("Answers of serve during an import", .timeLimit(.minutes(5)))
struct ServePacingTests {
  @Test("A client that asks all the time is put off while the catalog changes, and only then")
  func pacing() throws {
    let workspace = try ServedLibrary.made()
    let served = try ServedLibrary(workspace)
    let id = try served.id("a.jpg")
    let url = try #require(try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string)
    func metric(_ name: String) throws -> Double {
      let line = try served.get("/metrics").text.split(separator: "\n")
        .first { $0.hasPrefix("\(name) ") }
      return try #require(line?.split(separator: " ").last.flatMap { Double($0) })
    }
    /// Asks several times at once, because under load one client may ask too rarely.
    func ask() {
      DispatchQueue.concurrentPerform(iterations: 200) { [client = served.client] number in
        _ = try? client.send("GET", number.isMultiple(of: 2) ? "/" : "/\(url)", [:])
      }
    }
    // Several times what may be taken at once.
    while try metric("process_cpu_seconds_total") < 1 { ask() }
    #expect(try metric("pipeline_http_pacing_seconds_total") == 0)
    var changes = 0
    while try metric("pipeline_http_pacing_seconds_total") == 0 {
      changes += 1
      try workspace.json("tag", BytePath(id), BytePath("+t\(changes)"))
      ask()
    }
    try served.stop()
  }
}
