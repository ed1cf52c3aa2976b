import Files
import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Testing

/// The program with a catalog in PostgreSQL.
@Suite(
  "A catalog in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseCatalogTests {
  /// A workspace whose configuration names a new database.
  private func make(
    _ bucket: TestBucket? = nil
  ) throws -> (workspace: Workspace, address: DatabaseLocation) {
    let workspace = try Workspace(bucket: bucket)
    let address = try PostgreSQLServer.shared.makeDatabase()
    try name(address.uri, in: workspace)
    return (workspace, address)
  }

  private func name(_ catalog: String, in workspace: Workspace) throws {
    try workspace.configure(["catalog": .string(catalog)])
  }

  private func ids(_ workspace: Workspace, _ query: BytePath...) throws -> [String] {
    try workspace.program.run(["list"] + query + ["--json"]).events().of("asset")
      .compactMap { $0["id"]?.string }
  }

  @Test("All verbs work as with a file, and no file is made")
  func verbs() throws {
    let (workspace, _) = try make()
    for name in ["a", "b", "c"] { try workspace.put("text \(name)", as: BytePath("\(name).txt")) }
    try workspace.put(try Pictures.jpeg(width: 64, height: 48), as: "picture.jpg")
    try workspace.json("run")
    #expect(try workspace.files(below: "library").allSatisfy { !$0.description.contains("sqlite") })
    let all = try ids(workspace)
    #expect(all.count == 4)
    #expect(try ids(workspace, "kind:image").count == 1)
    #expect(try ids(workspace, "name:*.txt", "-name:b").count == 2)
    let picture = BytePath(try #require(try ids(workspace, "kind:image").first))
    try workspace.json("tag", picture, "+holiday")
    #expect(try ids(workspace, "tag:holiday") == [picture.description])
    #expect(try workspace.run("show", picture).exitCode == 0)
    #expect(try workspace.run("explain", "inbox/a.txt").exitCode == 0)
    let part = String(repeating: "a", count: 250)
    let long = Array(repeating: part, count: 11).joined(separator: "/")
    try FileManager.default.createDirectory(
      atPath: "\(workspace.inbox)/\(long)", withIntermediateDirectories: true)
    let explained = try workspace.run("explain", BytePath("inbox/\(long)"))
    #expect(explained.output.contains("at most 2600"))
    try FileManager.default.removeItem(atPath: "\(workspace.inbox)/\(part)")
    #expect(try workspace.run("status").exitCode == 0)
    #expect(try workspace.run("failed").exitCode == 0)
    try workspace.json("retry", "--all")
    try workspace.json("rm", picture)
    #expect(try ids(workspace, "is:trashed") == [picture.description])
    try workspace.json("trash", "restore", picture)
    #expect(try ids(workspace, "is:trashed").isEmpty)
    try workspace.json("verify")
    try workspace.json("gc")
    let before = try ids(workspace)
    try workspace.json("rebuild-catalog")
    #expect(try ids(workspace) == before)
    #expect(try ids(workspace, "tag:holiday") == [picture.description])
    try workspace.json("run")
    try workspace.json("verify")
    try workspace.put("later", as: "later.txt")
    try workspace.json("run")
    try workspace.json("undo")
    #expect(try ids(workspace) == before && workspace.exists("inbox/later.txt"))
    #expect(try workspace.run("doctor").output.contains("fsync=off"))
  }

  @Test(
    "Originals may be in a bucket, and be moved",
    .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)))
  func bucket() throws {
    let (workspace, _) = try make(TestBucket())
    for number in 0..<4 {
      let picture = try Pictures.jpeg(width: 80 + number, height: 60)
      try workspace.put(picture, as: BytePath("\(number).jpg"))
    }
    #expect(try workspace.json("run").summary["imported"] == 4)
    let all = try ids(workspace)
    #expect(all.count == 4)
    #expect(try workspace.files(below: "library/originals").count == 4)
    let id = BytePath(all[0])
    #expect(try workspace.run("get", id, "-o", "got.jpg").exitCode == 0)
    try workspace.json("rm", id)
    try workspace.json("trash", "empty", "--yes")
    try workspace.json("gc")
    #expect(try workspace.files(below: "library/originals").count == 3)
    try workspace.json("rebuild-catalog")
    #expect(try ids(workspace) == Array(all[1...]))
    let moved = try workspace.json("move-originals", "library").of("moved").first
    #expect(moved?["copied"] == 3 && moved?["removed"] == 3)
    #expect(try workspace.files(below: "library/originals").isEmpty)
    #expect(!workspace.exists("library/catalog.sqlite"))
    #expect(try workspace.json("move-originals").of("moved").first?["copied"] == 3)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    let checks = try workspace.run("doctor").output
    #expect(checks.contains("PostgreSQL") || checks.contains("fsync=off"))
    #expect(checks.contains("compares hashes"))
    #expect(try ids(workspace) == Array(all[1...]))
  }

  @Test("doctor names the rights that are lacking")
  func rights() throws {
    let (workspace, address) = try make()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    let role = "poor\(UInt32.random(in: .min ... .max))"
    let database = try #require(address.uri.firstMatch(of: /\/(test[0-9]+)\?/)?.output.1)
    try connection.execute("CREATE ROLE \(role) LOGIN")
    try connection.execute("REVOKE ALL ON DATABASE \(database) FROM PUBLIC")
    try connection.execute("GRANT CONNECT ON DATABASE \(database) TO \(role)")
    try name(address.uri.replacing("user=pipeline", with: "user=\(role)"), in: workspace)
    func expect(_ rights: String) throws {
      let output = try workspace.run("doctor").output
      #expect(output.contains("lacks \(rights): "), "\(output)")
    }
    try expect("TEMPORARY on the database, CREATE on the database")
    try name(address.uri, in: workspace)
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    try connection.execute("GRANT TEMPORARY ON DATABASE \(database) TO \(role)")
    try connection.execute("GRANT USAGE ON SCHEMA pipeline TO \(role)")
    try connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA pipeline TO \(role)")
    try name(address.uri.replacing("user=pipeline", with: "user=\(role)"), in: workspace)
    try expect("INSERT on the tables, UPDATE on the tables, DELETE on the tables")
    // As after an update that made a table; one that is not the catalog's does not matter.
    try connection.execute("CREATE TABLE pipeline.mine (a integer)")
    try connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA pipeline TO \(role)")
    try connection.execute(
      "REVOKE SELECT ON pipeline.rendition_bytes, pipeline.mine FROM \(role)")
    try expect("SELECT on the table rendition_bytes")
  }

  @Test("A library without its folders is refused if the database has its catalog")
  func withoutFolders() throws {
    let (workspace, _) = try make()
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    let library = try Descriptor.openFolder(workspace.library)
    for name in ["manifest", "originals"] {
      try library.removeTree(.init(name: BytePath(name), kind: .folder))
    }
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 1 && outcome.errors.contains("can't be made again"))
    #expect(!workspace.exists("library/manifest"))
  }

  @Test("A second machine with the same library is told who has it, by exit code 11")
  func exclusion() throws {
    let (workspace, address) = try make()
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    let other = try PostgreSQLConnection(address, applicationName: "pipeline/elsewhere")
    defer { other.close() }
    try other.execute("SELECT pg_advisory_lock(\(0x5069_7065), 1)")
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 11 && outcome.errors.contains("pipeline/elsewhere"))
    #expect(try ids(workspace).count == 1)
  }

  @Test(
    "What fails before it has begun is no longer taken to be at work", arguments: ["run", "watch"])
  func failedBeginning(verb: BytePath) throws {
    let shared = try SharedWorkspace(stages: [])
    let workspace = shared.workspace
    try workspace.json("run")
    // Something else has the place of the socket.
    let control = workspace.library.appending("control")
    try workspace.makeFolder(control)
    try workspace.put("x", as: "x", in: control)
    let outcome = try workspace.run(verb)
    #expect(outcome.exitCode == 1 && outcome.errors.contains("control"), "\(outcome)")
    #expect(try shared.count("participant WHERE state = 'active'") == 0)
  }

  @Test("A library neither reads, changes nor replaces the catalog of another one")
  func otherLibrary() throws {
    let (first, address) = try make()
    try first.put("a", as: "a.txt")
    try first.json("run")
    let all = try ids(first)
    let second = try Workspace()
    try second.put("b", as: "b.txt")
    try second.json("run")
    try name(address.uri, in: second)
    try second.put("c", as: "c.txt")
    for verb: [BytePath] in [
      ["run"], ["rebuild-catalog"], ["list"], ["status"], ["run", "--dry-run"], ["verify"],
      ["plan"],
    ] {
      let outcome = try second.program.run(verb)
      #expect(outcome.exitCode != 0, "\(verb)")
      #expect(outcome.errors.contains("another database"), "\(verb): \(outcome.errors)")
      #expect(!outcome.errors.contains("rebuild-catalog”"), "\(verb): \(outcome.errors)")
    }
    #expect(try second.run("doctor").output.contains("belongs to the library"))
    #expect(second.exists("inbox/c.txt"))
    #expect(try ids(first) == all && all.count == 1)
    try first.json("rebuild-catalog")
    #expect(try ids(first) == all)
  }

  @Test("Where a library's folder is missing, no other one is made for its catalog")
  func missingFolder() throws {
    let (workspace, _) = try make()
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    // As if its disk was not mounted.
    let root = try Descriptor.openFolder(workspace.root)
    try root.rename("library", to: root, as: "elsewhere")
    try workspace.put("b", as: "b.txt")
    for verb: BytePath in ["run", "watch"] {
      let refused = try workspace.program.run([verb], within: 60)
      #expect(refused.exitCode == 1 && refused.errors.contains("mount that"), "\(refused)")
    }
    #expect(!workspace.exists("library") && workspace.exists("inbox/b.txt"))
    let findings = try workspace.run("doctor").output
    #expect(findings.contains("has the catalog of the library"), "\(findings)")
    try root.rename("elsewhere", to: root, as: "library")
    #expect(try workspace.json("run").summary["imported"] == 1)
  }

  @Test("A library that had a catalog is not told to make its first one in an empty database")
  func emptyDatabase() throws {
    let (workspace, _) = try make()
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    try name(try PostgreSQLServer.shared.makeDatabase().uri, in: workspace)
    let refused = try workspace.run("run")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("this library had one"), "\(refused)")
  }

  @Test("A library that moves to a database keeps its keys, and its former catalog is set aside")
  func moved() throws {
    let workspace = try Workspace()
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    try workspace.put(try Pictures.jpeg(width: 64, height: 48), as: "picture.jpg")
    try workspace.json("run")
    let all = try ids(workspace)
    try name(try PostgreSQLServer.shared.makeDatabase().uri, in: workspace)
    try workspace.json("rebuild-catalog")
    #expect(try ids(workspace) == all && all.count == 2)
    #expect(!workspace.exists("library/catalog.sqlite"))
    try workspace.json("run")
    // Its renditions are made again, in the database, and the former ones are garbage.
    let former = BytePath("library/renditions.sqlite")
    let size = try workspace.read(former).count
    for words: [BytePath] in [["gc", "--dry-run"], ["gc"]] {
      #expect(workspace.exists(former))
      let result = try workspace.program.run(words + ["--json"]).event("garbage")
      #expect(result["files"] == 1 && result["fileBytes"] == .integer(size), "\(words)")
    }
    #expect(!workspace.exists(former))
    // What is not the program's stays.
    try Unprivileged.shell(
      "sqlite3 library/renditions.sqlite 'CREATE TABLE mine (a)'", in: workspace)
    #expect(try workspace.program.run(["gc", "--json"]).event("garbage")["files"] == 0)
    #expect(workspace.exists(former))
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A catalog that is restored from a dump of its schema goes on")
  func dump() throws {
    let (workspace, address) = try make()
    try workspace.put(try Pictures.jpeg(width: 64, height: 48), as: "picture.jpg")
    try workspace.json("run")
    let all = try ids(workspace)
    let other = try PostgreSQLServer.shared.makeDatabase()
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = [
      "-c",
      #"set -o pipefail; "$0/pg_dump" --schema=pipeline "$1" | "$0/psql" -qv ON_ERROR_STOP=1 "$2""#,
      try #require(PostgreSQLServer.programs), address.uri, other.uri,
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    try name(other.uri, in: workspace)
    #expect(try ids(workspace) == all && all.count == 1)
    try workspace.put(try Pictures.jpeg(width: 65, height: 48), as: "later.jpg")
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try ids(workspace, "kind:image").count == 2)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("Each way of being wrong has its sentence")
  func wrong() throws {
    let (workspace, address) = try make()
    try workspace.put("a", as: "a.txt")
    let latin = try PostgreSQLServer.shared.makeDatabase("ENCODING LATIN1 TEMPLATE template0")
    for (catalog, code, part) in [
      ("postgresql://anna:secret@db/x", 2, "password"),
      ("postgresql:///photos?foo=bar", 2, "foo"), ("postgresql://%zz/photos", 2, "%zz"),
      ("postgresql:///x?host=%2Fnowhere", 1, "No such file or directory"),
      (address.uri.replacing("///test", with: "///none"), 1, "does not exist"),
      (latin.uri, 1, "LATIN1"),
    ] {
      try name(catalog, in: workspace)
      let outcome = try workspace.run("run")
      #expect(outcome.exitCode == Int32(code), "\(catalog)")
      #expect(outcome.errors.contains(part), "\(outcome.errors)")
      #expect(!outcome.errors.contains("secret"))
      #expect(workspace.exists("inbox/a.txt"))
      let check = try workspace.run("config", "check")
      #expect(check.exitCode == (code == 2 ? 2 : 0), "\(catalog): \(check.errors)")
    }
  }
}
