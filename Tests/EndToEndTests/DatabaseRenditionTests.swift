import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing
import Vips

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
    try connection.execute(FormerSchema.version1)
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

  /// Where a transaction that records renditions is held: at a trigger that waits for a lock.
  static let places = [
    "BEFORE INSERT ON pipeline.rendition_bytes", "AFTER INSERT ON pipeline.rendition_bytes",
    "BEFORE DELETE ON pipeline.rendition", "AFTER DELETE ON pipeline.rendition_bytes",
    "BEFORE UPDATE ON pipeline.last_commit",
  ]

  @Test(
    "A kill at any time leaves no row without its bytes, and nothing is left by it",
    arguments: places)
  func kills(place: String) throws {
    try put(0..<2)
    try workspace.json("run")
    let before = try renditions()
    // A repaired rendition is removed and made; the third picture's are made.
    let isRemoval = place.contains("DELETE")
    if isRemoval {
      try connection.execute("UPDATE pipeline.rendition_bytes SET content = 'damaged'")
    } else {
      try put(2..<3)
    }
    try connection.execute(
      """
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_TABLE_NAME <> 'last_commit' OR EXISTS (SELECT 1 FROM pipeline.rendition
            WHERE xmin = pg_current_xact_id()::xid) THEN
          PERFORM pg_advisory_xact_lock(4711);
        END IF;
        RETURN coalesce(NEW, OLD);
      END $$;
      CREATE TRIGGER hold \(place) FOR EACH ROW EXECUTE FUNCTION hold();
      SELECT pg_advisory_lock(4711)
      """)
    let run = try workspace.program.start(
      isRemoval ? ["verify", "--repair", "--json"] : ["run", "--json"])
    try run.wait(for: "the transaction") {
      try connection.first(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"
      ) == 1
    }
    run.signal(SIGKILL)
    _ = try run.wait(within: 30)
    #expect(try wrongRows() == (isRemoval ? 4 : 0))
    try connection.execute("SELECT pg_advisory_unlock(4711)")
    // Its session has the catalog's lock until it ends.
    let lock = "(\(0x5069_7065), 1)"
    try connection.execute("SELECT pg_advisory_lock\(lock), pg_advisory_unlock\(lock)")
    // Whatever the server did with what it had got.
    #expect(try count("rendition_bytes") == count("rendition"))
    #expect(try wrongRows() == 0 || isRemoval)
    try connection.execute("DROP TRIGGER hold ON \(place.split(separator: " ")[3])")
    if isRemoval { try workspace.json("verify", "--repair") } else { try workspace.json("run") }
    try expectWhole(isRemoval ? 4 : 6)
    #expect(try renditions() == before || !isRemoval)
  }

  @Test("Renditions of several MiB are kept, served and moved as small ones are")
  func large() throws {
    func store(_ storage: JSONValue) throws {
      try workspace.configure(
        stages: Workspace.stages(
          sizes: ["large": 1600, "small": 64], options: ["format": "png"],
          thumbnails: ["storage": storage]), ["catalog": .string(address.uri)])
    }
    try store("auto")
    for number in 0..<2 {
      let picture = try Pictures.picture(width: 1600, height: 1400 + number, grain: 200)
      try workspace.put(try picture.encoded(as: ".png"), as: BytePath("\(number).png"))
    }
    try workspace.json("run")
    #expect(try count("rendition WHERE bytes > \(2 << 20)") == 2)
    try expectWhole(4)
    let before = try renditions()
    let served = try ServedLibrary(workspace)
    let id = try connection.first("SELECT max(id) FROM pipeline.rendition WHERE name = 'large'")
    let digest = try connection.text(
      "SELECT encode(digest, 'hex') FROM pipeline.rendition WHERE id = \(id)")
    let answer = try served.get("/r/\(digest)/\(id)/large.png")
    let size = try connection.first("SELECT bytes FROM pipeline.rendition WHERE id = \(id)")
    #expect(answer.status == 200 && Int64(answer.body.count) == size)
    try served.stop()
    // To files and back.
    try store("file")
    try workspace.json("run")
    #expect(try count("rendition_bytes") == 0 && count("rendition WHERE path IS NULL") == 0)
    #expect(try workspace.files(below: "library/renditions").count == 4)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    try store("database")
    try workspace.json("run")
    try expectWhole(4)
    #expect(try renditions() == before)
  }

  @Test("A server tells who has them that they are the same, and gives none for another digest")
  func validators() throws {
    try put(0..<1)
    try workspace.json("run")
    let served = try ServedLibrary(workspace)
    let url = try #require(
      try served.json("/api/v1/assets/\(try served.id("0.jpg"))")["thumbnail"]?.string)
    let answer = try served.get("/\(url)")
    let tag = try #require(answer.headers["etag"])
    let known = try served.get("/\(url)", ["If-None-Match": tag])
    #expect(known.status == 304 && known.body.isEmpty)
    #expect(try served.get("/\(url)", ["If-None-Match": "\"x\""]).body == answer.body)
    let head = try served.client.send("HEAD", "/\(url)")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(head.headers["content-length"] == "\(answer.body.count)")
    let number = url.split(separator: "/")[2]
    let other = try served.get("/r/\(String(repeating: "0", count: 64))/\(number)/x")
    #expect(try other.status == 404 && other.json()["error"]?["code"] == "noRendition")
    // Who has the bytes needs no others, and whoever has none gets no wrong ones.
    try connection.execute("UPDATE pipeline.rendition_bytes SET content = 'damaged'")
    #expect(try served.get("/\(url)", ["If-None-Match": tag]).status == 304)
    let damaged = try served.get("/\(url)")
    #expect(try damaged.status == 404 && damaged.json()["error"]?["code"] == "damaged")
    try served.stop()
  }

  @Test("A database of renditions is no garbage while a catalog that is a file lies beside it")
  func former() throws {
    try put(0..<1)
    try workspace.json("run")
    try Unprivileged.shell(
      """
      sqlite3 library/renditions.sqlite 'CREATE TABLE rendition (content BLOB);
        PRAGMA application_id = \(0x5069_7072); PRAGMA user_version = 1'
      touch library/catalog.sqlite
      """, in: workspace)
    func garbage(_ words: BytePath...) throws -> JSONValue {
      try workspace.program.run(["gc"] + words + ["--json"]).event("garbage")
    }
    #expect(try garbage("--dry-run")["files"] == 0 && garbage()["files"] == 0)
    #expect(workspace.exists("library/renditions.sqlite"))
    // One of the files that can't be removed: the others are found again.
    try Unprivileged.shell(
      "rm library/catalog.sqlite; mkdir library/renditions.sqlite-wal", in: workspace)
    let failed = try workspace.run("gc")
    #expect(failed.errors.contains("renditions.sqlite-wal"), "\(failed.errors)")
    #expect(workspace.exists("library/renditions.sqlite"))
    try Unprivileged.shell(
      "cd library; rmdir renditions.sqlite-wal; touch renditions.sqlite-wal", in: workspace)
    #expect(try garbage("--dry-run")["files"] == 2 && garbage()["files"] == 2)
    #expect(!workspace.exists("library/renditions.sqlite-wal"))
    try expectWhole(2)
  }

  @Test(
    "What `gc` can't read it lists nothing of, but all else",
    .enabled(if: Unprivileged.isPossible, "The program's folder is not open to other users."))
  func unreadableFormer() throws {
    try put(0..<1)
    try workspace.json("run")
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell(
      """
      touch library/renditions.sqlite library/renditions/left
      chmod 0 library/renditions.sqlite
      """, in: workspace)
    let preview = try workspace.program.run(["gc", "--dry-run", "--json"])
    #expect(try preview.exitCode == 0 && preview.event("garbage")["files"] == 1)
    let result = try workspace.run("gc")
    #expect(result.errors.contains("renditions.sqlite"), "\(result.errors)")
    #expect(!workspace.exists("library/renditions/left"))
  }
}
