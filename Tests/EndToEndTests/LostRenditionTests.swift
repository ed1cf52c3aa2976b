import Fixtures
import Glibc
import PipelineModel
import Testing

/// The database of renditions beside the catalog, as users meet it.
@Suite("Renditions in a database", .timeLimit(.minutes(5)), .about(.catalogFile))
struct LostRenditionTests {
  private func filled() throws -> Workspace {
    let workspace = try Workspace(
      stages: Workspace.stages(thumbnails: ["storage": "database"]))
    for (name, width) in [("a.jpg", 300), ("b.jpg", 301)] {
      try workspace.put(try Pictures.jpeg(width: width, height: 200), as: BytePath(name))
    }
    try workspace.json("run")
    return workspace
  }

  @Test(
    "Thumbnails come back after their database is lost or damaged",
    arguments: [
      "rm library/renditions.sqlite", ": > library/renditions.sqlite",
      "yes no database | head -c 20000 > library/renditions.sqlite",
      // A restored library has the catalog's log, too.
      "rm library/renditions.sqlite; touch library/renditions.sqlite-wal",
    ])
  func lost(command: String) throws {
    let workspace = try filled()
    let before = try workspace.state()
    try Unprivileged.shell(command, in: workspace)
    let id = BytePath(try #require(try workspace.asset(named: "a.jpg")["id"]?.string))
    let refused = try workspace.run("get", id, "--rendition", "grid")
    #expect(refused.exitCode != 0 && refused.errors.contains("missing or damaged"))
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(found.count == 4 && found.allSatisfy { $0["kind"] == "rendition-missing" })
    let again = try workspace.run("run")
    #expect(
      again.exitCode == 0 && again.errors.contains("bytes of 4 renditions"), "\(again.errors)")
    #expect(try workspace.state() == before)
    #expect(try workspace.run("run").errors == "")
    try workspace.expectSound()
    let isKept = try workspace.files(below: "library").contains {
      $0.description.hasPrefix("renditions-")
    }
    #expect(isKept == command.contains("yes"))
  }

  @Test("What is not the program's is refused with advice, and not touched")
  func foreign() throws {
    let workspace = try filled()
    try Unprivileged.shell(
      "rm library/renditions.sqlite; sqlite3 library/renditions.sqlite 'CREATE TABLE mine (a)'",
      in: workspace)
    let bytes = try workspace.read("library/renditions.sqlite")
    let refused = try workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("Move it away"), "\(refused.errors)")
    // Nothing else depends on it: what there is to check is checked, and jobs wait.
    let verified = try workspace.json("verify", exit: 3)
    #expect(verified.of("problem").count == 4 && verified.summary["checked"] == 6, "\(verified)")
    let collected = try workspace.run("gc")
    #expect(collected.exitCode == 0 && collected.errors.contains("Move it away"))
    try workspace.put(try Pictures.jpeg(width: 302, height: 200), as: "c.jpg")
    for _ in 1...5 { #expect(try workspace.run("run").exitCode == 1) }
    #expect(try workspace.read("library/renditions.sqlite") == bytes)
    try Unprivileged.shell("mv library/renditions.sqlite mine.sqlite", in: workspace)
    #expect(try workspace.run("run").exitCode == 0)
    #expect(try workspace.json("failed").of("job") == [] && workspace.assets().count == 3)
    try workspace.expectSound()
  }

  @Test("watch makes renditions again whose database goes meanwhile")
  func removedMeanwhile() throws {
    let workspace = try filled()
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForHolder(watch)
    try Unprivileged.shell(
      "rm -f library/renditions.sqlite-wal library/renditions.sqlite-shm library/renditions.sqlite",
      in: workspace)
    try workspace.put(try Pictures.jpeg(width: 302, height: 200), as: "c.jpg")
    var tries = 0
    while try !workspace.hasAllRenditions(6) {
      usleep(50_000)
      tries += 1
      try #require(tries < 400)
    }
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 20).exitCode == 143)
    try workspace.expectSound()
  }

  @Test(
    "What goes while a server has the database open costs renditions alone, and they come back",
    arguments: [
      "rm library/renditions.sqlite-wal",
      "rm library/renditions.sqlite; sleep 0.02; rm -f library/renditions.sqlite-wal",
      "rm library/renditions.sqlite-wal library/renditions.sqlite-shm",
    ], [false, true])
  func removedBesideReader(command: String, watches: Bool) throws {
    let workspace = try filled()
    let served = try ServedLibrary(workspace)
    let id = try served.id("a.jpg")
    func isShown() throws -> Bool {
      // One that is made again has another address, and none until it is there.
      guard let url = try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string else {
        return false
      }
      return try served.get("/\(url)").status == 200
    }
    #expect(try isShown())
    let watch = try watches ? workspace.program.start(["watch", "--json"]) : nil
    if let watch { try workspace.waitForHolder(watch) }
    // With the server's connection open, the log stays, with what is only in it.
    func add(_ name: BytePath, _ width: Int) throws {
      try workspace.put(try Pictures.jpeg(width: width, height: 200), as: name)
      if watch == nil { try workspace.json("run") }
    }
    func wait(_ what: String, _ condition: () throws -> Bool) throws {
      for _ in 0..<400 {
        if try condition() { return }
        usleep(50_000)
      }
      Issue.record("\(what): \(try workspace.wrongRenditions())")
    }
    try add("c.jpg", 302)
    try wait("c.jpg") { try workspace.query("SELECT count(*) FROM rendition") == ["6"] }
    #expect(workspace.exists("library/renditions.sqlite-wal"))
    try Unprivileged.shell(command, in: workspace)
    try add("d.jpg", 303)
    try wait("d.jpg") { try workspace.hasAllRenditions(8) }
    if let watch {
      watch.signal(SIGTERM)
      #expect(try watch.wait(within: 20).exitCode == 143)
    }
    try wait("the server") { try isShown() }
    try served.stop()
    try workspace.json("run")
    #expect(try workspace.assets().count == 4)
    try workspace.expectSound()
  }

  @Test("gc removes bytes that no record names, and says before how many")
  func garbage() throws {
    let workspace = try filled()
    try Unprivileged.shell(
      """
      sqlite3 library/renditions.sqlite "INSERT INTO rendition (owner, fingerprint, name, content)
        SELECT zeroblob(32), zeroblob(32), value, x'0102' FROM generate_series(1, 3)"
      """, in: workspace)
    #expect(try workspace.wrongRenditions().count == 3)
    for words: [BytePath] in [["gc", "--dry-run"], ["gc"]] {
      let result = try workspace.program.run(words + ["--json"]).event("garbage")
      #expect(result["renditions"] == 3 && result["renditionBytes"] == 6, "\(words)")
    }
    try workspace.expectSound()
  }

  @Test("watch moves the bytes that an older version kept in the catalog")
  func older() throws {
    let workspace = try filled()
    let before = try workspace.state()
    try workspace.makeCatalogOlder()
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForHolder(watch)
    var tries = 0
    while try !workspace.query("SELECT 1 FROM sqlite_schema WHERE name = 'rendition_bytes'").isEmpty
    {
      usleep(50_000)
      tries += 1
      try #require(tries < 400)
    }
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 20).exitCode == 143)
    #expect(try workspace.state() == before)
    try workspace.expectSound()
  }
}

extension Workspace {
  /// Whether so many renditions are recorded and their bytes are all there.
  ///
  /// Counts again after looking at the bytes, because the records of lost ones may go in between.
  fileprivate func hasAllRenditions(_ count: Int) throws -> Bool {
    func isComplete() throws -> Bool {
      try query("SELECT count(*) FROM rendition") == ["\(count)"]
    }
    return try isComplete() && wrongRenditions().isEmpty && isComplete()
  }
}
