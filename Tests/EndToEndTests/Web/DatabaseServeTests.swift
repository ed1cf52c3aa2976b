import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// `serve` on a library whose catalog is in PostgreSQL.
@Suite(
  "Serving a catalog in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseServeTests {
  private let server: PostgreSQLServer
  private let address: DatabaseLocation
  private let workspace: Workspace

  init() throws {
    server = try PostgreSQLServer()
    address = try server.makeDatabase()
    workspace = try Workspace(["catalog": .string(address.uri)])
    for number in 1...3 {
      try workspace.put(
        try Pictures.jpeg(width: 80 + number, height: 60), as: BytePath("\(number).jpg"))
    }
    try workspace.json("run")
  }

  /// Whether the pages show an asset, its picture and its facts.
  private func expectShown(
    by served: ServedLibrary, _ name: String = "2.jpg",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let id = try served.id(name)
    #expect(try served.get("/").text.contains(id), sourceLocation: location)
    #expect(
      try served.json("/api/v1/assets/\(id)", location)["name"]?.string == name,
      sourceLocation: location)
    #expect(try served.get("/o/\(id)").status == 200, sourceLocation: location)
    #expect(try served.get("/a/\(id)").status == 200, sourceLocation: location)
    #expect(try served.get("/metrics").status == 200, sourceLocation: location)
  }

  private func wait(for what: String, _ condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(60)
    while try !condition() {
      try #require(ContinuousClock.now < end, "There was no \(what).")
      usleep(20_000)
    }
  }

  @Test("Pages are shown and changes made, and what a run imports is seen")
  func pages() throws {
    let served = try ServedLibrary(workspace, "--allow", "tag")
    try expectShown(by: served)
    let id = try served.id("1.jpg")
    try workspace.json("tag", BytePath(id), "+holiday")
    #expect(try served.get("/?q=tag:holiday").text.contains(id))
    try workspace.put(try Pictures.jpeg(width: 90, height: 60), as: "later.jpg")
    try workspace.json("run")
    try expectShown(by: served, "later.jpg")
    try served.stop()
  }

  @Test("A server that only variables of the environment name is reached")
  func variables() throws {
    let name = try #require(address.uri.split(separator: "/").last?.split(separator: "?").first)
    try workspace.configure(["catalog": .string("postgresql:///\(name)")])
    workspace.program.environment.merge(server.variables) { $1 }
    workspace.program.environment.merge(["TZ": "UTC", "SECRET": "x"]) { $1 }
    let served = try ServedLibrary(workspace)
    try expectShown(by: served)
    let names = try served.serverVariables()
    #expect(
      names.filter { $0 != "LD_LIBRARY_PATH" && $0 != "HOME" } == [
        "LANG", "PGHOST", "PGUSER", "TZ",
      ])
    try served.stop()
  }

  @Test("`doctor` finds that rights are missing for what `serve` reads")
  func doctor() throws {
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    try connection.execute("CREATE ROLE stranger LOGIN")
    #expect(try !workspace.run("doctor").output.contains("may not be read"))
    let uri = address.uri.replacing("user=pipeline", with: "user=stranger")
    try workspace.configure(["catalog": .string(uri)])
    #expect(try workspace.run("doctor").output.contains("may not be read"))
  }

  @Test(
    "While the server is away the answer is 503, and then it goes on",
    arguments: [
      PostgreSQLServer.Stop.fast, .immediate,
    ])
  func restart(_ manner: PostgreSQLServer.Stop) throws {
    let served = try ServedLibrary(workspace)
    // Also where nothing has been asked before, so that most connections are lost before they are used.
    if manner == .fast { try expectShown(by: served) }
    let id = try served.id("2.jpg")
    try server.stop(manner)
    // Often enough that each thread has tried all that it can.
    for _ in 0..<20 {
      for target in [
        "/", "/healthz", "/metrics", "/api/v1/assets/\(id)", "/a/\(id)", "/api/v1/assets",
      ] {
        let answer = try served.get(target)
        #expect(
          answer.status == 503 && answer.text.contains("database"), "\(target): \(answer.text)")
      }
      usleep(200_000)
    }
    try server.start()
    try wait(for: "answer") { try served.get("/healthz").status == 200 }
    try expectShown(by: served)
    let said = try served.said()
    #expect(said.count == 2, "\(said)")
    #expect(said.first?.contains("can't be opened") == true, "\(said)")
    #expect(said.last?.contains("can be read again") == true, "\(said)")
  }

  @Test(
    "If only the connections of the process that answers are lost, another process takes its place")
  func ended() throws {
    let served = try ServedLibrary(workspace)
    try expectShown(by: served)
    let before = try served.server()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    // All but that of the process that was started first, which connected first.
    try connection.execute(
      """
      SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
        WHERE application_name LIKE 'pipeline/%' ORDER BY backend_start OFFSET 1) AS later
      """)
    try wait(for: "other process") { try served.server() != before }
    try wait(for: "answer") { try served.get("/healthz").status == 200 }
    try expectShown(by: served)
    try served.stop()
  }

  @Test(
    "While another process can't start, a catalog that was made anew is not shown by the old one")
  func anewLater() throws {
    let server = try PostgreSQLServer(settings: ["fsync=off", "max_connections=40"])
    let address = try server.makeDatabase()
    try workspace.configure(["catalog": .string(address.uri)])
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    let proxy = try DatabaseProxy(to: address)
    try workspace.configure(["catalog": .string(proxy.address.uri)])
    let served = try ServedLibrary(workspace)
    try expectShown(by: served)
    let before = try served.server()
    // All but three, which `rebuild-catalog` needs.
    var others: [PostgreSQLConnection] = []
    while let other = try? PostgreSQLConnection(address, applicationName: "tests") {
      others.append(other)
    }
    try #require(others.count > 10)
    for _ in 0..<3 { others.removeLast().close() }
    try workspace.json("rebuild-catalog")
    try wait(for: "refusal") { try served.get("/").status == 503 }
    // Until others were started in vain, again and again.
    let tries = proxy.connectionCount
    try wait(for: "tries") { proxy.connectionCount > tries + 2 }
    #expect(try served.get("/").status == 503)
    for other in others { other.close() }
    try wait(for: "other process") { try served.server() != before }
    try workspace.json("run")
    try expectShown(by: served)
    // While others had nearly all connections, it may have got none.
    _ = try served.said()
  }

  @Test("A catalog that was made anew is shown")
  func anew() throws {
    let served = try ServedLibrary(workspace)
    try expectShown(by: served)
    let before = try served.server()
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    try wait(for: "other process") { try served.server() != before }
    try expectShown(by: served)
    try served.stop()
  }

  @Test("A role that lacks rights on a catalog that was made anew is told so, until it has them")
  func rights() throws {
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    let rights = """
      GRANT USAGE ON SCHEMA pipeline TO gallery;
      GRANT SELECT ON ALL TABLES IN SCHEMA pipeline TO gallery;
      GRANT SELECT ON ALL SEQUENCES IN SCHEMA pipeline TO gallery;
      """
    try connection.execute("CREATE ROLE gallery LOGIN; \(rights)")
    let uri = address.uri.replacing("user=pipeline", with: "user=gallery")
    try workspace.configure(["catalog": .string(uri)])
    let served = try ServedLibrary(workspace)
    try expectShown(by: served)
    let before = try served.server()
    try workspace.configure(["catalog": .string(address.uri)])
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    try wait(for: "refusal") { try served.get("/").text.contains("rights are missing") }
    for _ in 0..<20 {
      for target in ["/", "/healthz", "/metrics", "/api/v1/assets"] {
        let answer = try served.get(target)
        #expect(
          answer.status == 503 && answer.text.contains("rights are missing"),
          "\(target): \(answer.text)")
      }
      usleep(200_000)
    }
    try connection.execute(rights)
    try wait(for: "other process") { try served.server() != before }
    try wait(for: "answer") { try served.get("/healthz").status == 200 }
    try expectShown(by: served)
    let said = try served.said()
    #expect(said.count == 2, "\(said)")
    #expect(said.first?.contains("may not be read") == true, "\(said)")
    #expect(said.last?.contains("can be read again") == true, "\(said)")
  }
}
