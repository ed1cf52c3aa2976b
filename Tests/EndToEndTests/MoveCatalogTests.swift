import Files
import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Testing

/// `pipeline move-catalog`.
@Suite(
  "Moving a catalog", .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(10)))
struct MoveCatalogTests {
  /// A workspace with pictures, a duplicate, a failed job, odd names, tags, trash, and a run to undo.
  private func make() throws -> Workspace {
    let workspace = try Workspace()
    for number in 0..<6 {
      try workspace.put(
        try Pictures.jpeg(width: 80 + number, height: 60), as: BytePath("\(number).jpg"))
    }
    try workspace.put(try Pictures.jpeg(width: 80, height: 60), as: "again.jpg")
    try workspace.put(
      try Pictures.jpeg(width: 90, height: 60), as: BytePath(bytes: [0x62, 0xE9, 0xFF]))
    try workspace.put(Array(Pictures.jpeg(width: 70, height: 60).prefix(200)), as: "cut.jpg")
    try workspace.put("a text", as: "a.txt")
    try workspace.json("run", exit: 3)
    let all = try ids(workspace)
    try workspace.json("tag", BytePath(all[0]), "+holiday")
    try workspace.json("rm", BytePath(all[1]))
    try workspace.put("later", as: "later.txt")
    try workspace.json("run")
    return workspace
  }

  private func name(_ catalog: DatabaseLocation?, in workspace: Workspace) throws {
    try workspace.configure(catalog.map { ["catalog": .string($0.uri)] } ?? [:])
  }

  private func ids(_ workspace: Workspace, _ query: BytePath...) throws -> [String] {
    try workspace.program.run(["list"] + query + ["--json"]).events().of("asset")
      .compactMap { $0["id"]?.string }
  }

  /// The whole records of all assets, and the failures.
  private func records(_ workspace: Workspace) throws -> [[JSONValue]] {
    [try workspace.assets(), try workspace.json("failed").of("failure")]
  }

  @Test(
    "Two names of one folder are not two places, so the catalog stays",
    arguments: [[], ["--dry-run"]])
  func oneFolder(options: [BytePath]) throws {
    let workspace = try Workspace()
    try workspace.put("text", as: "a.txt")
    try workspace.json("run")
    try FileManager.default.createSymbolicLink(
      atPath: workspace.root.appending("other").description, withDestinationPath: "library")
    let refused = try workspace.program.run(
      ["move-catalog", "--from", "other", "library"] + options)
    #expect(refused.exitCode == 1 && refused.errors.contains("one folder"), "\(refused)")
    #expect(workspace.exists("library/catalog.sqlite"))
    #expect(try workspace.json("list").of("asset").count == 1)
  }

  @Test("It moves to a database and back; no job runs again, and all verbs go on as before")
  func thereAndBack() throws {
    let workspace = try make()
    let before = try records(workspace)
    let revision = try workspace.json("list", "--limit", "1").of("asset").first?["revision"]
    let address = try PostgreSQLServer.shared.makeDatabase()
    try name(address, in: workspace)
    for verb: [BytePath] in [["run"], ["list"], ["status"], ["verify"]] {
      let refused = try workspace.program.run(verb)
      #expect(refused.exitCode == 1 && refused.errors.contains("move-catalog"), "\(verb)")
    }
    let planned = try workspace.json("move-catalog", "--dry-run").of("moved").first
    #expect(planned?["dryRun"] == true && planned?["former"] == .null)
    #expect(workspace.exists("library/catalog.sqlite"))
    let moved = try #require(try workspace.json("move-catalog").of("moved").first)
    #expect(moved["rows"] == planned?["rows"] && moved["assets"] == .integer(before[0].count))
    #expect(moved["renditions"] == planned?["renditions"] && moved["missing"] == 0)
    #expect(moved["to"]?.string == address.uri)
    #expect(!workspace.exists("library/catalog.sqlite"))
    #expect(workspace.exists(BytePath(try #require(moved["former"]?.string))))
    #expect(try records(workspace) == before)
    try expectNothingDone(workspace)
    // Once more, it is there.
    let again = try workspace.json("move-catalog").of("moved").first
    #expect(again?["rows"] == 0 && again?["former"] == .null)
    let id = BytePath(try ids(workspace)[0])
    #expect(try ids(workspace, "tag:holiday") == [id.description])
    #expect(try workspace.run("show", id).exitCode == 0)
    #expect(try workspace.run("get", id, "-o", "got.jpg").exitCode == 0)
    #expect(try workspace.run("get", id, "--rendition", "grid", "-o", "grid.jpg").exitCode == 0)
    if let revision = revision?.string {
      #expect(try workspace.run("list", "--since", BytePath(revision)).exitCode == 0)
    }
    #expect(try workspace.json("verify").summary["problems"] == 0)
    // And back, once the configuration says so.
    try name(nil, in: workspace)
    let without = try workspace.run("move-catalog")
    #expect(without.exitCode == 2 && without.errors.contains("--from"))
    let back = try #require(
      try workspace.json("move-catalog", "--from", BytePath(address.uri)).of("moved").first)
    #expect(back["former"]?.string?.hasPrefix("pipeline_") == true && back["missing"] == 0)
    #expect(try records(workspace) == before)
    try expectNothingDone(workspace)
    #expect(
      try workspace.files(below: "library").filter { $0.description.contains("moved") }.isEmpty)
    try workspace.json("trash", "empty", "--yes")
    try workspace.json("undo")
    try workspace.json("gc", "--yes")
    #expect(workspace.exists("inbox/later.txt"))
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  /// Expects that a run imports nothing and does no job.
  private func expectNothingDone(_ workspace: Workspace) throws {
    let summary = try workspace.json("run").summary
    #expect(summary["imported"] == 0 && summary["jobsDone"] == 0, "\(summary)")
    #expect(summary["jobsFailed"] == 0, "\(summary)")
  }

  @Test("Without room for the copy it is refused before anything is written")
  func noRoom() throws {
    let workspace = try make()
    let address = try PostgreSQLServer.shared.makeDatabase()
    try name(address, in: workspace)
    try workspace.json("move-catalog")
    let before = try workspace.files(below: "library")
    try workspace.configure(["catalog": .string(address.uri), "reserve": "1000000GiB"])
    for options: [BytePath] in [[], ["--dry-run"]] {
      let refused = try workspace.program.run(["move-catalog", "library"] + options)
      #expect(refused.exitCode == 1, "\(refused)")
      #expect(refused.errors.contains("so nothing was moved. Make room"), "\(refused)")
    }
    #expect(try workspace.files(below: "library") == before)
    // The server's disk is another.
    let other = try PostgreSQLServer.shared.makeDatabase()
    #expect(try workspace.run("move-catalog", BytePath(other.uri)).exitCode == 0)
  }

  @Test(
    "What the catalog takes on its server has to be free",
    .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
  func largeCatalog() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let disk = try MemoryDisk("size=16m")
    let workspace = try Workspace(
      stages: [], ["catalog": .string(address.uri), "reserve": "1MiB"], on: disk)
    try workspace.put("text", as: "a.txt")
    try workspace.json("run")
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    // As much as many renditions.
    try connection.execute(
      """
      CREATE TABLE pipeline.padding AS
      SELECT string_agg(uuid_send(gen_random_uuid()), NULL) AS bytes
      FROM generate_series(1, 2000000) AS number GROUP BY number % 100
      """)
    for options: [BytePath] in [[], ["--dry-run"]] {
      let refused = try workspace.program.run(["move-catalog", "library"] + options)
      #expect(refused.exitCode == 1 && refused.errors.contains("The catalog takes"), "\(refused)")
    }
    #expect(
      try workspace.files(below: "library").allSatisfy { !"\($0)".contains("catalog") })
    try connection.execute("DROP TABLE pipeline.padding")
    let moved = try workspace.run("move-catalog", "library")
    #expect(moved.exitCode == 0, "\(moved)")
  }

  @Test("By name: to a database, to another one, into a folder, and back")
  func places() throws {
    let workspace = try make()
    let before = try records(workspace)
    let first = try PostgreSQLServer.shared.makeDatabase()
    let second = try PostgreSQLServer.shared.makeDatabase()
    let folder = workspace.root.appending("fast")
    try workspace.makeFolder(folder)
    let places: [(String, String?)] = [
      (first.uri, first.uri), (second.uri, second.uri), ("fast", "\(folder)"), ("library", nil),
    ]
    for (place, catalog) in places {
      let outcome = try workspace.run("move-catalog", BytePath(place), "-v")
      #expect(outcome.exitCode == 0 && outcome.errors.contains("pipeline.json"), "\(outcome)")
      #expect(try workspace.run("list").exitCode == 1)
      try workspace.configure(catalog.map { ["catalog": .string($0)] } ?? [:])
      #expect(try records(workspace) == before, "\(place)")
      try expectNothingDone(workspace)
    }
    try workspace.expectSound()
  }

  @Test("It prints nothing where nobody looks, and says what is wrong with its arguments")
  func words() throws {
    let workspace = try make()
    let address = try PostgreSQLServer.shared.makeDatabase()
    for (words, part) in [
      (["move-catalog"], "same place"), (["move-catalog", "library"], "same place"),
      (["move-catalog", "postgresql://anna:secret@db/x"], "password"),
      (["move-catalog", "postgresql:///photos?foo=bar"], "foo"),
      (["move-catalog", "a", "b"], "too many"),
    ] as [([BytePath], String)] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 2 && outcome.errors.contains(part), "\(outcome)")
    }
    let outcome = try workspace.run("move-catalog", BytePath(address.uri))
    #expect(outcome.exitCode == 0 && outcome.output.isEmpty && outcome.errors.isEmpty)
  }

  @Test("It refuses while others work, and where another library's catalog is")
  func refusals() throws {
    let workspace = try make()
    let address = try PostgreSQLServer.shared.makeDatabase()
    try name(address, in: workspace)
    try workspace.json("move-catalog")
    let worker = try workspace.program.start(["work"])
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    try worker.wait(for: "the worker", within: 60) {
      try connection.first("SELECT count(*) FROM pipeline.participant WHERE state = 'active'") == 1
    }
    let busy = try workspace.run("move-catalog", "library")
    #expect(busy.exitCode == 11 && busy.errors.contains("pipeline work"), "\(busy)")
    worker.signal(SIGTERM)
    _ = try worker.wait(within: 30)
    let other = try Workspace()
    try other.put("b", as: "b.txt")
    try other.json("run")
    let refused = try other.run("move-catalog", BytePath(address.uri))
    #expect(refused.exitCode == 1 && refused.errors.contains("another library"), "\(refused)")
    #expect(other.exists("library/catalog.sqlite"))
    try workspace.json("move-catalog", "library")
  }

  @Test("A path that PostgreSQL can't have in an index keeps the catalog where it is")
  func overlong() throws {
    let workspace = try make()
    let part = String(repeating: "a", count: 250)
    let long = Array(repeating: part, count: 11).joined(separator: "/")
    try FileManager.default.createDirectory(
      atPath: "\(workspace.inbox)/\(long)", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(workspace.root)/short", withDestinationPath: "\(workspace.inbox)/\(long)")
    try workspace.put("deep", as: "deep.txt", in: "short")
    try workspace.json("run")
    let address = try PostgreSQLServer.shared.makeDatabase()
    let refused = try workspace.run("move-catalog", BytePath(address.uri))
    #expect(refused.exitCode == 1 && refused.errors.contains("2600 bytes"), "\(refused)")
    #expect(try workspace.run("list").exitCode == 0)
  }

  @Test("A kill at any commit on the way to a database leaves a library that works")
  func killedThere() throws {
    let workspace = try make()
    let before = try records(workspace)
    let address = try PostgreSQLServer.shared.makeDatabase()
    var commits = 0
    while true {
      let proxy = try DatabaseProxy(to: address)
      proxy.stall(afterCommits: commits)
      let run = try workspace.program.start(["move-catalog", BytePath(proxy.address.uri)])
      try run.wait(for: "a commit, or the end", within: 60) {
        !run.isRunning || proxy.withheldCount > 0
      }
      guard run.isRunning else {
        #expect(try run.wait(within: 30).exitCode == 0)
        break
      }
      run.signal(SIGKILL)
      _ = try run.wait(within: 30)
      proxy.goOn()
      #expect(try records(workspace) == before, "\(commits) commits")
      commits += 1
    }
    #expect(commits > 20)
    try name(address, in: workspace)
    try expectWhole(workspace, before)
  }

  @Test("A signal ends a move, which leaves nothing behind")
  func signalled() throws {
    let workspace = try make()
    let before = try records(workspace)
    let address = try PostgreSQLServer.shared.makeDatabase()
    let proxy = try DatabaseProxy(to: address)
    proxy.stall(afterCommits: 8)
    let run = try workspace.program.start(["move-catalog", BytePath(proxy.address.uri)])
    try run.wait(for: "some tables", within: 60) { proxy.withheldCount > 0 }
    run.signal(SIGTERM)
    proxy.goOn()
    let outcome = try run.wait(within: 30)
    #expect(outcome.exitCode == 143 && outcome.errors.contains("is where it was"), "\(outcome)")
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    #expect(
      try connection.first("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pipeline%'") == 0)
    #expect(try records(workspace) == before)
    try workspace.expectSound()
  }

  /// Expects a library whose catalog was moved, and then moves it back if it is in a database.
  private func expectWhole(_ workspace: Workspace, _ before: [[JSONValue]]) throws {
    #expect(try records(workspace) == before)
    try expectNothingDone(workspace)
    if !workspace.exists("library/catalog.sqlite") {
      try workspace.json("move-catalog", "library")
      try name(nil, in: workspace)
      #expect(try records(workspace) == before)
    }
    try workspace.expectSound()
  }

  @Test(
    "A kill on the way between both leaves one of them in use, and the same move takes the rest",
    arguments: [false, true], MomentShim.Moment.Side.allCases)
  func killedBetween(comesBack: Bool, side: MomentShim.Moment.Side) throws {
    let workspace = try make()
    let before = try records(workspace)
    let address = try PostgreSQLServer.shared.makeDatabase()
    if comesBack {
      try name(address, in: workspace)
      try workspace.json("move-catalog")
    }
    let moments: [MomentShim.Moment] =
      comesBack
      ? [
        .init(side, .write, of: "catalog-moved.sqlite"),
        .init(side, .write, of: "renditions.sqlite"),
        .init(side, .flush, of: "catalog-moved.sqlite"), .init(side, .rename, of: "catalog.sqlite"),
      ] : [.init(side, .rename, of: ".old"), .init(side, .flush, of: "/library")]
    let target: BytePath = comesBack ? "library" : BytePath(address.uri)
    let folder = try TemporaryFolder()
    let shim = try MomentShim(in: folder.path)
    for moment in moments {
      let quiet = workspace.program.environment
      workspace.program.environment.merge(shim.killing(moment)) { $1 }
      let killed = try workspace.run("move-catalog", target)
      workspace.program.environment = quiet
      #expect(killed.signal == SIGKILL, "\(moment): \(killed)")
      // With the configuration as it was, or as it is to be.
      let isThere = try works(workspace, in: comesBack ? address : nil, before)
      let isNew = try works(workspace, in: comesBack ? nil : address, before)
      #expect(isThere || isNew, "\(moment)")
      try name(comesBack ? address : nil, in: workspace)
    }
    let moved = try workspace.json("move-catalog", target).of("moved").first
    #expect(moved?["missing"] == 0)
    try name(comesBack ? nil : address, in: workspace)
    try expectWhole(workspace, before)
  }

  /// Whether a library has its catalog in a place, or in the library's folder.
  private func works(
    _ workspace: Workspace, in address: DatabaseLocation?, _ expected: [[JSONValue]]
  ) throws -> Bool {
    try name(address, in: workspace)
    guard try workspace.run("list").exitCode == 0 else { return false }
    return try records(workspace) == expected
  }

  @Test("Two catalogs that an interrupted move left and that differ by now are both kept")
  func diverged() throws {
    let workspace = try make()
    let address = try PostgreSQLServer.shared.makeDatabase()
    let folder = try TemporaryFolder()
    let quiet = workspace.program.environment
    workspace.program.environment.merge(
      try MomentShim(in: folder.path).killing(.init(.before, .rename, of: ".old"))
    ) { $1 }
    #expect(try workspace.run("move-catalog", BytePath(address.uri)).signal == SIGKILL)
    workspace.program.environment = quiet
    try workspace.json("tag", BytePath(try ids(workspace)[2]), "+new")
    let refused = try workspace.run("move-catalog", BytePath(address.uri))
    #expect(refused.exitCode == 1 && refused.errors.contains("annotation"), "\(refused)")
    #expect(try ids(workspace, "tag:new").count == 1)
    try name(address, in: workspace)
    #expect(try ids(workspace, "tag:new").isEmpty)
  }
}
