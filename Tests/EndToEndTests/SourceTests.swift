import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What becomes of files in sources.
@Suite("Sources", .timeLimit(.minutes(10)))
struct SourceTests {
  @Test("The same content twice is one original and one asset", arguments: ["move", "copy"])
  func duplicates(mode: JSONValue) throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": mode]])
    try workspace.put("same", as: "first.txt")
    try workspace.put("same", as: "second.txt")
    let events = try workspace.json("run")
    workspace.expectCountersAddUp(events)
    #expect(events.outcome("first.txt") == "imported")
    #expect(events.outcome("second.txt") == "duplicate")
    #expect(try workspace.assets().count == 1)
    #expect(try workspace.files(below: "inbox").count == (mode == "move" ? 0 : 2))
    // Once more, in a later run.
    try workspace.put("same", as: "third.txt")
    #expect(try workspace.json("run").outcome("third.txt") == "duplicate")
    #expect(try workspace.assets().count == 1)
    try workspace.expectSound()
  }

  @Test("Each policy for duplicates does what it says", arguments: ["keep", "file", "asset"])
  func policies(policy: String) throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "move", "duplicates": .string(policy)]])
    try workspace.put("same", as: "first.txt")
    try workspace.json("run")
    try workspace.put("same", as: "second.txt")
    let events = try workspace.json("run")
    workspace.expectCountersAddUp(events)
    let inbox = try workspace.files(below: "inbox")
    let filed = try workspace.files(below: "library/duplicates")
    switch policy {
    case "keep":
      #expect(events.outcome("second.txt") == "duplicate" && inbox == ["second.txt"])
    case "file":
      #expect(events.outcome("second.txt") == "duplicate" && inbox == [])
      #expect(filed.map(\.lastComponent) == ["second.txt"])
    default:
      #expect(events.outcome("second.txt") == "imported" && inbox == [])
    }
    #expect(try workspace.assets().count == (policy == "asset" ? 2 : 1))
    #expect(try workspace.json("run").of("file") == [])
    try workspace.expectSound()
  }

  @Test("A source on another file system is copied, then removed")
  func otherFileSystem() throws {
    let elsewhere = try SharedMemoryFolder()
    let workspace = try Workspace(
      sources: [["path": .string(elsewhere.path.description), "settle": "0ms", "mode": "move"]])
    try workspace.put(
      try Pictures.jpeg(width: 200, height: 100), as: "a.jpg", in: elsewhere.path)
    try workspace.put("text", as: "b.txt", in: elsewhere.path)
    #expect(try workspace.json("run").summary["imported"] == 2)
    #expect(try workspace.files(below: elsewhere.path) == [])
    try workspace.expectSound()
  }

  @Test("A copied source stays; changed files supersede, renamed ones are known, gone ones told")
  func copyMode() throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": "copy"]])
    try workspace.put("one", as: "a.txt")
    try workspace.put("two", as: "b.txt")
    #expect(try workspace.json("run").summary["imported"] == 2)
    #expect(try workspace.json("run").of("file") == [])
    try workspace.put("one, but longer", as: "a.txt")
    let changed = try workspace.json("run")
    #expect(changed.of("file").count == 1 && changed.outcome("a.txt") == "imported")
    let assets = try workspace.assets().filter { $0["name"] == "a.txt" }
    #expect(assets.count == 2)
    #expect(assets.last?["supersedes"] == assets.first?["id"])
    let (old, new) = (workspace.inbox.appending("b.txt"), workspace.inbox.appending("c.txt"))
    #expect(rename(old.description, new.description) == 0)
    let renamed = try workspace.json("run")
    workspace.expectCountersAddUp(renamed)
    #expect(try workspace.assets().count == 3)
    #expect(unlink(new.description) == 0)
    let gone = try workspace.json("run")
    #expect(gone.outcome("c.txt") == "gone" && gone.summary["gone"] == 1)
    // What was not seen is not deleted.
    #expect(try workspace.assets().count == 3)
    try workspace.expectSound()
  }

  @Test("Rules, built in and configured, are heeded and explained")
  func ignored() throws {
    let workspace = try Workspace(
      sources: [
        ["path": "inbox", "settle": "0ms", "mode": "move", "exclude": ["**/drafts/**", "*.log"]]
      ])
    for folder in ["drafts", "@eaDir", "sub"] {
      try workspace.makeFolder(workspace.inbox.appending(folder))
    }
    for name in [
      ".hidden", "a.part", "b.TMP", "c~", "Thumbs.db", "d.log", "drafts/e.txt", "@eaDir/f.txt",
      "sub/g.txt",
    ] as [BytePath] {
      try workspace.put("file \(name)", as: name)
    }
    let events = try workspace.json("run")
    workspace.expectCountersAddUp(events)
    #expect(events.summary["imported"] == 1 && events.outcome("g.txt") == "imported")
    #expect(events.summary["ignored"] == 8)
    for event in events.of("file") where event["outcome"] == "ignored" {
      #expect(try #require(event["reason"]?.string).isEmpty == false)
    }
    #expect(try workspace.files(below: "inbox").count == 8)
    #expect(try workspace.json("run").of("file") == [])
    let explained = try workspace.json("explain", "inbox/d.log").of("path").first
    #expect(explained?["state"] == "ignored")
    #expect(explained?["reason"]?.string?.contains("*.log") == true)
    try workspace.expectSound()
  }

  @Test("A file that changes while it is read is left, and taken whole the next time")
  func changing() throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": "copy"]])
    let bytes = [UInt8](repeating: 7, count: 192 << 20)
    try workspace.write(bytes, to: "inbox/growing.bin")
    let run = try workspace.program.start(["run", "--json"])
    try run.wait(for: "the file in incoming/") {
      try !workspace.files(below: "library/incoming").isEmpty
    }
    let file = try #require(fopen(workspace.inbox.appending("growing.bin").description, "ae"))
    fputs("more", file)
    fclose(file)
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0)
    #expect(try outcome.events().outcome("growing.bin") == "settling")
    #expect(try workspace.assets() == [])
    #expect(try workspace.json("run").outcome("growing.bin") == "imported")
    #expect(try workspace.assets().first?["size"]?.integer == bytes.count + 4)
    try workspace.expectSound()
  }

  @Test("A file that somebody has open for writing is left until it is closed")
  func openWriter() throws {
    let workspace = try Workspace()
    try workspace.put("begun", as: "open.txt")
    let writer = try #require(fopen(workspace.inbox.appending("open.txt").description, "ae"))
    let events = try workspace.json("run")
    #expect(events.outcome("open.txt") == "settling" && events.summary["settling"] == 1)
    let explained = try workspace.json("explain", "inbox/open.txt").of("path").first
    #expect(explained?["state"] == "settling")
    #expect(explained?["reason"]?.string?.contains("open for writing") == true)
    fclose(writer)
    #expect(try workspace.json("run").outcome("open.txt") == "imported")
    try workspace.expectSound()
  }

  @Test("A fresh file is waited for within the run")
  func settling() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": HeldRun.window, "mode": "move"]])
    try workspace.put("fresh", as: "fresh.txt")
    let held = try HeldRun(workspace)
    #expect(workspace.exists("inbox/fresh.txt"))
    let ended = try held.finish()
    #expect(try ended.exitCode == 0 && ended.events().outcome("fresh.txt") == "imported")
  }

  @Test("An empty file is rejected once and left in place")
  func empty() throws {
    let workspace = try Workspace()
    try workspace.put([], as: "empty.jpg")
    let events = try workspace.json("run", exit: 3)
    #expect(events.outcome("empty.jpg") == "rejected" && events.summary["rejected"] == 1)
    #expect(workspace.exists("inbox/empty.jpg"))
    // What is known is no news, and no failure.
    #expect(try workspace.json("run").of("file") == [])
    #expect(
      try workspace.json("explain", "inbox/empty.jpg").of("path").first?["state"] == "rejected")
  }

  @Test("Links, pipes, sockets and devices are ignored, never read")
  func special() throws {
    let workspace = try Workspace()
    try workspace.write(Array("outside".utf8), to: "secret.txt")
    let inbox = workspace.inbox.description
    #expect(mkfifo("\(inbox)/pipe.jpg", 0o600) == 0)
    for (name, target) in [
      ("link", "../secret.txt"), ("zero", "/dev/zero"), ("loop", "loop"), ("dangling", "nowhere"),
      ("folder", "/etc"),
    ] {
      #expect(symlink(target, "\(inbox)/\(name)") == 0)
    }
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    let bound = LocalAddress.with("\(inbox)/s") { bind(socket, $0, $1) }
    #expect(bound == 0)
    var count = 7
    // `/dev/zero` by its number; only root may, and not in every container.
    if mknod("\(inbox)/device", S_IFCHR | 0o600, 0x0105) == 0 { count += 1 }
    let outcome = try workspace.run("run", "--json", within: 20)
    let events = try outcome.events()
    #expect(outcome.exitCode == 0 && events.summary["ignored"]?.integer == count)
    workspace.expectCountersAddUp(events)
    #expect(try workspace.assets() == [])
    #expect(try workspace.files(below: "inbox").count == count)
    // Named to `import`, they are failures: somebody wanted them.
    for name in ["pipe.jpg", "zero", "loop"] {
      let imported = try workspace.run("import", "--json", BytePath("inbox/\(name)"))
      #expect(imported.exitCode == 3)
      #expect(try imported.events().outcome(name) == "failed")
    }
  }

  @Test("A huge file of nothing is refused with a reason and left", arguments: ["move", "copy"])
  func sparse(mode: JSONValue) throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": mode]])
    try workspace.write([], to: "inbox/huge.bin")
    #expect(truncate(workspace.inbox.appending("huge.bin").description, 1 << 40) == 0)
    try workspace.put("small", as: "small.txt")
    let outcome = try workspace.run("run", "--json", within: 20)
    let events = try outcome.events()
    #expect(outcome.exitCode == 3 && events.outcome("small.txt") == "imported")
    #expect(["failed", "rejected"].contains(events.outcome("huge.bin")))
    let event = events.of("file").first { $0["path"]?.string?.hasSuffix("huge.bin") == true }
    #expect(try #require(event?["reason"]?.string).count > 20)
    #expect(workspace.exists("inbox/huge.bin"))
    #expect(unlink(workspace.inbox.appending("huge.bin").description) == 0)
    try workspace.expectSound()
  }

  @Test("Sources that are missing are told of; the others are taken")
  func missingSource() throws {
    let workspace = try Workspace(
      sources: [["path": "away", "settle": "0ms"], ["path": "inbox", "settle": "0ms"]])
    try workspace.put("here", as: "here.txt")
    let events = try workspace.json("run", exit: 3)
    #expect(events.outcome("here.txt") == "imported")
    let message = try #require(events.of("error").first?["message"]?.string)
    #expect(message.contains("\(workspace.root)/away"))
    try workspace.expectSound()
  }
}
