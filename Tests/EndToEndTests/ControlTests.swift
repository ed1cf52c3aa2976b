import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Verbs that change something while another process holds the library.
@Suite("Requests to the holder", .timeLimit(.minutes(5)))
struct ControlTests {
  /// A workspace in which `run` waits for a file that was just put there.
  private func held() throws -> (Workspace, HeldRun) {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": HeldRun.window, "mode": "move"]])
    try workspace.put("slow", as: "slow.txt")
    return (workspace, try HeldRun(workspace))
  }

  @Test("import is done by the process that holds the library, with its jobs")
  func importBesideRun() throws {
    let (workspace, held) = try held()
    let elsewhere = try TemporaryFolder()
    let bytes = try Pictures.jpeg(width: 120, height: 90)
    try workspace.put(bytes, as: "photo.jpg", in: elsewhere.path)
    try workspace.put([], as: "empty.jpg", in: elsewhere.path)
    let outcome = try workspace.run("import", "--json", elsewhere.path)
    // The empty file is rejected.
    #expect(outcome.exitCode == 3)
    let events = try outcome.events()
    #expect(events.outcome("photo.jpg") == "imported")
    #expect(events.outcome("empty.jpg") == "rejected")
    #expect(events.of("job").map { $0["outcome"]?.string } == ["done", "done"])
    workspace.expectCountersAddUp(events)
    let asset = try workspace.asset(named: "photo.jpg")
    #expect(asset["state"] == "done" && asset["renditions"]?.array?.count == 2)
    #expect(try Descriptor.openFolder(elsewhere.path).status(of: "photo.jpg").kind == .regular)
    // The run that held the library counts its own files only.
    let ended = try held.finish()
    #expect(ended.exitCode == 0)
    #expect(try ended.events().summary["imported"] == 1)
    #expect(!workspace.exists("library/control"))
    try workspace.expectSound()
  }

  @Test("A run that has nothing left to do waits for the jobs of an import beside it")
  func importOutlastsRun() throws {
    let workspace = try Workspace()
    for index in 0..<300 { try workspace.put("file \(index)", as: BytePath("\(index).txt")) }
    let elsewhere = try TemporaryFolder()
    for index in 0..<20 {
      try workspace.put(
        try Pictures.jpeg(width: 300 + index, height: 200), as: BytePath("\(index).jpg"),
        in: elsewhere.path)
    }
    let run = try workspace.program.start(["run"])
    try workspace.waitForHolder(run)
    let events = try workspace.json("import", elsewhere.path)
    #expect(events.summary["imported"] == 20 && events.summary["jobsDone"] == 40)
    #expect(try run.wait(within: 30).exitCode == 0)
    try workspace.expectSound()
  }

  @Test("retry is done by the process that holds the library")
  func retryBesideRun() throws {
    let workspace = try Workspace()
    let picture = try Pictures.jpeg(width: 400, height: 300)
    try workspace.put(Array(picture.prefix(picture.count / 2)), as: "half.jpg")
    #expect(try workspace.run("run").exitCode == 3)
    try workspace.configure(
      sources: [["path": "inbox", "settle": HeldRun.window, "mode": "move"]])
    try workspace.put("slow", as: "slow.txt")
    let held = try HeldRun(workspace)
    #expect(try workspace.json("retry", "--all").first?["jobs"] == 1)
    let ended = try held.finish()
    // The run did the job again, in vain.
    #expect(ended.exitCode == 3)
    #expect(try ended.events().summary["jobsFailed"] == 1)
    #expect(try workspace.json("failed").first?["attempts"] == 1)
  }

  @Test("A run that is asked to end refuses what it has not begun, and the verb does it itself")
  func ending() throws {
    let (workspace, held) = try held()
    let elsewhere = try TemporaryFolder()
    for index in 0..<20 {
      try workspace.put("file \(index)", as: BytePath("\(index).txt"), in: elsewhere.path)
    }
    // Stopped, it can neither serve nor refuse until it goes on to its end.
    try held.run.stop()
    let other = try workspace.program.start(["import", "--json", elsewhere.path])
    usleep(300_000)
    #expect(other.isRunning)
    held.run.signal(SIGTERM)
    held.run.signal(SIGCONT)
    #expect(try held.run.wait(within: 20).exitCode == 143)
    let outcome = try other.wait(within: 20)
    #expect([0, 1].contains(outcome.exitCode), "\(outcome.errors)")
    if outcome.exitCode == 1 { #expect(outcome.errors.contains("is safe")) }
    try workspace.json("import", elsewhere.path)
    #expect(try workspace.assets().count == 20)
    try workspace.configure()
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("Whoever goes away before the answer does no harm")
  func goneAway() throws {
    let (workspace, held) = try held()
    let elsewhere = try TemporaryFolder()
    for index in 0..<200 {
      try workspace.put("file \(index)", as: BytePath("\(index).txt"), in: elsewhere.path)
    }
    let other = try workspace.program.start(["import", elsewhere.path])
    usleep(60_000)
    other.signal(SIGKILL)
    #expect(try held.finish().exitCode == 0)
    try workspace.json("import", elsewhere.path)
    #expect(try workspace.assets().count == 201)
    try workspace.expectSound()
  }

  @Test("Words that are no request, and those without an end, are refused", arguments: [0, 1, 2])
  func noRequest(kind: Int) throws {
    let (workspace, held) = try held()
    let folder = try Descriptor.openFolder(workspace.library)
    let socket = try #require(try LocalSocket.connect(to: "control", in: folder))
    switch kind {
    case 0: try socket.send(Array("GET / HTTP/1.0\n".utf8))
    case 1:
      try socket.send(Array(#"{"protocolVersion":99,"version":"9","request":{}}"#.utf8 + [10]))
    default: try socket.send([UInt8](repeating: UInt8(ascii: "{"), count: 1 << 20))
    }
    if kind < 2 {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
      defer { buffer.deallocate() }
      let count = try socket.descriptor.read(into: buffer)
      #expect(String(decoding: buffer[..<count], as: UTF8.self).contains("restart it"))
    }
    held.run.signal(SIGTERM)
    #expect(try held.run.wait(within: 20).exitCode == 143)
    try workspace.configure()
    try workspace.json("run")
    try workspace.expectSound()
  }
}
