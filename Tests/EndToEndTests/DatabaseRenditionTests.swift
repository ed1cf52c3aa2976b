import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// The bytes of renditions in a catalog in PostgreSQL, as users meet them.
@Suite(
  "Renditions in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseRenditionTests {
  private let workspace: Workspace
  private let connection: PostgreSQLConnection
  private let address: DatabaseLocation

  init() throws {
    address = try PostgreSQLServer.shared.makeDatabase()
    workspace = try Workspace(["catalog": .string(address.uri)])
    connection = try PostgreSQLConnection(address, applicationName: "tests")
  }

  private func put(_ numbers: Range<Int>) throws {
    for number in numbers {
      try workspace.put(
        try Pictures.jpeg(width: 200 + number, height: 150), as: BytePath("\(number).jpg"))
    }
  }

  private func count(_ what: String) throws -> Int64 {
    try connection.first("SELECT count(*) FROM pipeline.\(what)")
  }

  /// Rows whose bytes are not there, or not all, and files that should be bytes.
  private func wrongRows() throws -> Int64 {
    try count(
      """
      rendition LEFT JOIN pipeline.rendition_bytes ON rendition = id
      WHERE path IS NOT NULL OR length(content) IS DISTINCT FROM bytes
      """)
  }

  /// A number that tells which bytes there are.
  private func renditions() throws -> Int64 {
    try connection.first(
      """
      SELECT hashtext(string_agg(name || sha256(content)::text, ' ' ORDER BY name, sha256(content)))::bigint
      FROM pipeline.rendition JOIN pipeline.rendition_bytes ON rendition = id
      """)
  }

  private func expectWhole(_ renditions: Int64) throws {
    #expect(try count("rendition") == renditions && wrongRows() == 0)
    #expect(try count("rendition_bytes") == renditions)
    #expect(try workspace.files(below: "library/renditions").isEmpty)
    #expect(!workspace.exists("library/renditions.sqlite"))
    #expect(try workspace.json("verify").summary["problems"] == 0)
    let garbage = try workspace.program.run(["gc", "--dry-run", "--json"]).event("garbage")
    #expect(garbage["files"] == 0 && garbage["renditions"] == 0)
  }

  @Test("They are served, checked, repaired and moved, and no file has any of them")
  func inDatabase() throws {
    func store(_ storage: JSONValue) throws {
      try workspace.configure([
        "catalog": .string(address.uri),
        "stages": Workspace.stages(thumbnails: ["storage": storage]),
      ])
    }
    try store("file")
    try put(0..<2)
    try workspace.json("run")
    #expect(try count("rendition_bytes") == 0 && count("rendition WHERE path IS NULL") == 0)
    #expect(try workspace.files(below: "library/renditions").count == 4)
    try store("auto")
    try put(2..<3)
    try workspace.json("run")
    try expectWhole(6)
    let served = try ServedLibrary(workspace)
    for name in ["0.jpg", "2.jpg"] {
      let url = try served.json("/api/v1/assets/\(try served.id(name))")["thumbnail"]?.string
      let answer = try served.get("/\(try #require(url))")
      #expect(answer.status == 200 && answer.body.starts(with: [0xFF, 0xD8]))
    }
    try served.stop()
    try connection.execute(
      """
      DELETE FROM pipeline.rendition_bytes WHERE rendition = (SELECT min(id) FROM pipeline.rendition);
      UPDATE pipeline.rendition_bytes SET content = 'damaged'
        WHERE rendition = (SELECT max(id) FROM pipeline.rendition)
      """)
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(
      found.compactMap { $0["kind"]?.string }.sorted() == [
        "rendition-damaged", "rendition-missing",
      ])
    try workspace.json("verify", "--repair")
    try expectWhole(6)
    // What a deleted asset had goes with it.
    try workspace.json("rm", BytePath(served.id("0.jpg")))
    try workspace.json("trash", "empty", "--yes")
    try expectWhole(4)
  }

  @Test("After a dump without them is restored, the next run makes them again, and says so")
  func lost() throws {
    try put(0..<3)
    try workspace.json("run")
    let before = try renditions()
    try connection.execute("TRUNCATE pipeline.rendition_bytes")
    let again = try workspace.run("run")
    #expect(
      again.exitCode == 0 && again.errors.contains("bytes of 6 renditions"), "\(again.errors)")
    #expect(try renditions() == before)
    #expect(try workspace.run("run").errors == "")
    try expectWhole(6)
  }

  @Test("A catalog of version 1 is updated, and the database that had its renditions is garbage")
  func older() throws {
    try put(0..<3)
    try workspace.json("run")
    let before = try renditions()
    try connection.execute(
      "DROP TABLE pipeline.rendition_bytes; UPDATE pipeline.schema_version SET version = 1")
    try Unprivileged.shell(
      """
      sqlite3 library/renditions.sqlite 'CREATE TABLE rendition (content BLOB);
        PRAGMA application_id = \(0x5069_7072); PRAGMA user_version = 1'
      """, in: workspace)
    let list = try workspace.run("list")
    #expect(list.exitCode != 0 && list.errors.contains("older version 1"), "\(list.errors)")
    #expect(try workspace.run("run").errors.contains("bytes of 6 renditions"))
    #expect(try renditions() == before)
    #expect(try workspace.program.run(["gc", "--json"]).event("garbage")["files"] == 1)
    try expectWhole(6)
  }

  @Test("A kill at any time leaves no row without its bytes, and nothing is left by it")
  func kills() throws {
    try put(0..<1)
    try workspace.json("run")
    try put(1..<24)
    for least in [3, 10, 20, 30] as [Int64] {
      let run = try workspace.program.start(["run", "--json"])
      try run.wait(for: "\(least) renditions") { try count("rendition") >= least }
      run.signal(SIGKILL)
      _ = try run.wait(within: 30)
      #expect(try wrongRows() == 0)
    }
    try workspace.json("run")
    try expectWhole(48)
  }
}
