import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Testing

/// Damaged pages of the table that has the bytes of renditions.
@Suite(
  "Damaged renditions in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseRenditionDamageTests {
  /// A library whose server can be stopped.
  private struct Setup {
    let server: PostgreSQLServer
    let address: DatabaseLocation
    let workspace: Workspace

    init() throws {
      server = try PostgreSQLServer()
      address = try server.makeDatabase()
      workspace = try Workspace(
        stages: Workspace.stages(sizes: ["grid": 200, "preview": 400]),
        ["catalog": .string(address.uri)])
      for number in 0..<4 {
        try workspace.put(
          try Pictures.jpeg(width: 600 + number, height: 450), as: BytePath("\(number).jpg"))
      }
      try workspace.json("run")
    }

    func first(_ sql: String) throws -> Int64 {
      let connection = try PostgreSQLConnection(address, applicationName: "tests")
      defer { connection.close() }
      return try connection.first(sql)
    }

    func text(_ sql: String) throws -> String {
      let connection = try PostgreSQLConnection(address, applicationName: "tests")
      defer { connection.close() }
      return try connection.text(sql)
    }

    /// Writes over the beginning of the first page of the large values, while the server is stopped.
    func damage(_ bytes: [UInt8]) throws {
      let path = try text(
        """
        SELECT current_setting('data_directory') || '/' || pg_relation_filepath(reltoastrelid)
        FROM pg_class WHERE oid = 'pipeline.rendition_bytes'::regclass
        """)
      try server.stop()
      let file = try FileHandle(forUpdating: URL(filePath: path))
      try file.write(contentsOf: Data(bytes))
      try file.close()
      try server.start()
    }

    /// Which renditions `verify` finds damaged; it reads all others, too.
    func damaged() throws -> Int {
      let result = try workspace.json("verify", exit: 3)
      let problems = result.of("problem")
      #expect(problems.allSatisfy { $0["kind"] == "rendition-damaged" }, "\(problems)")
      #expect(
        problems.allSatisfy {
          $0["message"]?.string?.contains("XX001") == true
            && $0["message"]?.string?.contains("rebuild-catalog") == false
        }, "\(problems)")
      #expect(result.summary["checked"] == 12)
      return problems.count
    }

    func expectWhole() throws {
      #expect(try workspace.json("verify").summary["problems"] == 0)
      let wrong = try first(
        """
        SELECT count(*) FROM pipeline.rendition LEFT JOIN pipeline.rendition_bytes ON rendition = id
        WHERE length(content) IS DISTINCT FROM bytes
        """)
      #expect(try wrong == 0 && first("SELECT count(*) FROM pipeline.rendition") == 8)
    }
  }

  @Test("What a lost page had is damaged, nothing else, and is made again")
  func lostPage() throws {
    let setup = try Setup()
    try setup.expectWhole()
    try setup.damage([UInt8](repeating: 0, count: 8192))
    let count = try setup.damaged()
    #expect(count > 0 && count < 8)
    // Whoever wants one that is damaged is told so, and no other.
    let got = try setup.workspace.assets().compactMap { $0["id"]?.string }.map { id in
      try setup.workspace.run("get", BytePath(id), "--rendition", "preview")
    }
    #expect(got.contains { $0.exitCode == 0 })
    #expect(
      got.allSatisfy { $0.exitCode == 0 || $0.errors.contains("missing or damaged") },
      "\(got.map(\.errors))")
    #expect(got.contains { $0.exitCode != 0 })
    let served = try ServedLibrary(setup.workspace)
    let answers = try served.json("/api/v1/assets")["assets"]?.array?.map { asset in
      try served.get("/\(try #require(asset["thumbnail"]?.string))")
    }
    let codes = try #require(answers).map(\.status)
    #expect(codes.contains(404) && codes.allSatisfy { [200, 404].contains($0) }, "\(codes)")
    try served.stop()
    try setup.workspace.json("verify", "--repair")
    try setup.expectWhole()
  }

  @Test("A page that can't be read stops no check, and repairing says how to remove it")
  func unreadablePage() throws {
    let setup = try Setup()
    try setup.damage([UInt8](repeating: 255, count: 64))
    let count = try setup.damaged()
    #expect(count > 0 && count < 8)
    let repaired = try setup.workspace.run("verify", "--repair")
    let advice = try #require(repaired.errors.firstMatch(of: /“(TRUNCATE [a-z_.]+)”/)?.output.1)
    #expect(repaired.exitCode == 3)
    #expect(try setup.damaged() == count)
    let connection = try PostgreSQLConnection(setup.address, applicationName: "tests")
    defer { connection.close() }
    try connection.execute(String(advice))
    try setup.workspace.json("run")
    try setup.expectWhole()
  }
}
