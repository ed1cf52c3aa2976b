import Fixtures
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
  private func make() throws -> (workspace: Workspace, address: DatabaseAddress) {
    let workspace = try Workspace()
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
    #expect(!workspace.exists("library/catalog.sqlite"))
    let all = try ids(workspace)
    #expect(all.count == 4)
    #expect(try ids(workspace, "kind:image").count == 1)
    #expect(try ids(workspace, "name:*.txt", "-name:b").count == 2)
    let picture = BytePath(try #require(try ids(workspace, "kind:image").first))
    try workspace.json("tag", picture, "+holiday")
    #expect(try ids(workspace, "tag:holiday") == [picture.description])
    #expect(try workspace.run("show", picture).exitCode == 0)
    #expect(try workspace.run("explain", "inbox/a.txt").exitCode == 0)
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

  @Test("Each way of being wrong has its sentence")
  func wrong() throws {
    let (workspace, address) = try make()
    try workspace.put("a", as: "a.txt")
    let latin = try PostgreSQLServer.shared.makeDatabase("ENCODING LATIN1 TEMPLATE template0")
    for (catalog, code, part) in [
      ("postgresql://anna:secret@db/x", 2, "password"),
      ("postgresql:///x?host=%2Fnowhere", 1, "nowhere"),
      (address.uri.replacing("///test", with: "///none"), 1, "does not exist"),
      (latin.uri, 1, "LATIN1"),
    ] {
      try name(catalog, in: workspace)
      let outcome = try workspace.run("run")
      #expect(outcome.exitCode == Int32(code), "\(catalog)")
      #expect(outcome.errors.contains(part), "\(outcome.errors)")
      #expect(!outcome.errors.contains("secret"))
      #expect(workspace.exists("inbox/a.txt"))
    }
    try name(address.uri, in: workspace)
    #expect(try workspace.run("serve").errors.contains("PostgreSQL"))
  }
}
