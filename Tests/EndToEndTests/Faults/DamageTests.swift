import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Originals and catalogs that are not what they were.
@Suite("Faults: damage", .timeLimit(.minutes(5)))
struct DamageTests {
  /// What happened to an original.
  enum Damage: String, CaseIterable, Sendable { case bit, empty, cut, missing }

  @Test(
    "A damaged or missing original is named, and healed by its good bytes",
    arguments: Damage.allCases)
  func original(damage: Damage) throws {
    let workspace = try Workspace()
    let bytes = try Pictures.jpeg(width: 120, height: 90)
    try workspace.put(bytes, as: "a.jpg")
    try workspace.put("another", as: "b.txt")
    try workspace.json("run")
    let digest = try #require(try workspace.asset(named: "a.jpg")["digest"]?.string)
    let path = workspace.library.appending(BytePath("originals/\(digest.prefix(2))/\(digest)"))
    switch damage {
    case .bit:
      var damaged = bytes
      damaged[bytes.count / 2] ^= 0x10
      try workspace.damage(path, damaged)
    case .empty: try workspace.damage(path, [])
    case .cut: try workspace.damage(path, Array(bytes.dropLast()))
    case .missing: try workspace.remove(path)
    }
    let problem = try #require(try workspace.json("verify", exit: 3).of("problem").first)
    #expect(problem["kind"] == (damage == .missing ? "original-missing" : "original-damaged"))
    #expect(problem["digest"]?.string == digest)
    // The good bytes come again.
    try workspace.put(bytes, as: "again.jpg")
    #expect(try workspace.json("run").outcome("again.jpg") == "duplicate")
    #expect(try workspace.read(path) == bytes)
    #expect(try workspace.files(below: "library/damaged").count == (damage == .missing ? 0 : 1))
    #expect(try workspace.assets().count == 2)
    try workspace.expectSound()
  }

  @Test(
    "An original with a link, a folder or a pipe in its place ends no verb, and is put aside",
    .about(.originals))
  func obstructedOriginal() throws {
    let obstacles: [(String) -> Int32] = [
      { symlink("/etc/passwd", $0) }, { mkdir($0, 0o700) }, { mkfifo($0, 0o600) },
    ]
    for make in obstacles {
      let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
      for name: BytePath in ["a.txt", "b.txt"] { try workspace.put("\(name)", as: name) }
      try workspace.json("run")
      let asset = try workspace.asset(named: "a.txt")
      let id = BytePath(try #require(asset["id"]?.string))
      let digest = try #require(asset["digest"]?.string)
      let path = workspace.library.appending(BytePath("originals/\(digest.prefix(2))/\(digest)"))
      for round in 1...2 {
        try #require(unlink("\(path)") == 0 && make("\(path)") == 0)
        let events = try workspace.json("verify", exit: 3)
        #expect(events.of("problem").map { $0["kind"] } == ["original-damaged"])
        #expect(events.of("problem").map { $0["assets"] } == [.array([.string("\(id)")])])
        #expect(events.summary["checked"] == .integer(round == 1 ? 2 : 5))
        #expect(events.summary["complete"] == true)
        let got = try workspace.run("get", id)
        #expect(got.exitCode == 1 && got.output == "" && got.errors.contains("not a regular file"))
        #expect(try workspace.run("show", id).exitCode == 0)
        #expect(try workspace.run("explain", id).exitCode == 0)
        if round == 2 {
          #expect(try workspace.json("verify", "--repair", exit: 3).summary["setAside"] == 1)
          #expect(try workspace.json("verify", exit: 3).of("problem").count == 1)
        }
        // A good copy comes, among others.
        try workspace.put("a.txt", as: "again.txt")
        for number in 1...3 {
          try workspace.put("new \(round) \(number)", as: BytePath("\(number).txt"))
        }
        #expect(try workspace.json("run").outcome("again.txt") == "duplicate")
        #expect(try workspace.files(below: "inbox") == [])
        try workspace.expectSound()
      }
      let damaged = try Descriptor.openFolder(workspace.library.appending("damaged"))
      #expect(try damaged.entries().count == 2)
      #expect(try damaged.entries().allSatisfy { $0.kind != .regular })
    }
  }

  @Test(
    "A damaged catalog is refused with advice, and rebuilt with the same keys",
    .about(.catalogFile))
  func damagedCatalog() throws {
    let (workspace, _) = try FaultScenario.move.makeWorkspace()
    try workspace.json("run")
    let before = try workspace.state()
    let keys = try workspace.assets().map { $0["id"] }
    var bytes = try workspace.read("library/catalog.sqlite")
    bytes.replaceSubrange(0..<100, with: repeatElement(0x5A, count: 100))
    try workspace.write(bytes, to: "library/catalog.sqlite")
    try workspace.put("later", as: "later.txt")
    for words: [BytePath] in [["run"], ["list"], ["verify"], ["import", "inbox"]] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 1 && outcome.errors.contains("rebuild-catalog"), "\(words[0])")
    }
    #expect(try workspace.read("library/catalog.sqlite") == bytes)
    #expect(try workspace.files(below: "inbox") == ["later.txt"])
    try workspace.json("rebuild-catalog")
    #expect(try workspace.assets().map { $0["id"] } == keys)
    try #require(unlink(workspace.inbox.appending("later.txt").description) == 0)
    try workspace.json("run")
    #expect(try workspace.state() == before)
  }

  @Test("A catalog of a newer version is refused, and nothing is written", .about(.catalogFile))
  func newerCatalog() throws {
    let (workspace, _) = try FaultScenario.move.makeWorkspace()
    try workspace.json("run")
    try workspace.put("later", as: "later.txt")
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
    shell.arguments = [
      workspace.library.appending("catalog.sqlite").description, "PRAGMA user_version = 4000",
    ]
    shell.standardOutput = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    let catalog = try workspace.read("library/catalog.sqlite")
    let files = try workspace.files(below: "library")
    for words: [BytePath] in [["run"], ["list"], ["import", "inbox"]] {
      let outcome = try workspace.program.run(words + ["--json"])
      #expect(outcome.exitCode == 1)
      #expect(try outcome.event("error")["code"] == "newerVersion")
    }
    #expect(try workspace.read("library/catalog.sqlite") == catalog)
    // Locks and logs that come and go are no change.
    let lasting: ([BytePath]) -> Set<BytePath> = { paths in
      Set(paths).subtracting(["catalog.sqlite-wal", "catalog.sqlite-shm", "lock", "control"])
    }
    #expect(try lasting(workspace.files(below: "library")) == lasting(files))
    #expect(workspace.exists("inbox/later.txt"))
  }
}
