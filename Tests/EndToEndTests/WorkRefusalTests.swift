import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// `work` at a server that does not let it in.
@Suite(
  "Work that the server refuses",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct WorkRefusalTests: WorkSuite {
  /// A library on a server that asks for a password, with where the program looks for one.
  private struct Setup {
    let server: PostgreSQLServer
    let shared: SharedWorkspace
    let passwords: BytePath

    init() throws {
      server = try PostgreSQLServer()
      shared = try SharedWorkspace(stages: [WorkTests.identify], server: server)
      passwords = shared.workspace.root.appending("passwords")
      shared.workspace.program.environment["PGPASSFILE"] = passwords.description
      try shared.put(0..<2)
      try shared.workspace.json("run")
    }

    func write(_ password: String, mode: mode_t) throws {
      let draft = shared.workspace.root.appending("draft").description
      try Data("*:*:*:*:\(password)\n".utf8).write(to: URL(filePath: draft))
      try #require(chmod(draft, mode) == 0 && rename(draft, passwords.description) == 0)
    }

    func requirePassword() throws { try server.requirePassword("right", shared.database) }
  }

  @Test(
    "Work that has no password ends when it begins, and says why")
  func first() throws {
    let setup = try Setup()
    let workspace = setup.shared.workspace
    try setup.requirePassword()
    let missing = try workspace.run("work", within: 30)
    #expect(missing.exitCode == 1 && missing.errors.contains("no password"), "\(missing)")
    try setup.write("right", mode: 0o644)
    let open = try workspace.run("work", within: 30)
    #expect(open.exitCode == 1 && open.errors.contains("is not used, because"), "\(open)")
    // libpq writes such a line by itself.
    #expect(!open.errors.contains("WARNING"), "\(open)")
    try setup.write("right", mode: 0o600)
    #expect(try workspace.run("work", "--until-idle").exitCode == 0)
  }

  @Test("Work that has no authority for the server's certificate ends when it begins, and says why")
  func authority() throws {
    let server = try PostgreSQLServer(port: try PostgreSQLServer.freePort())
    let shared = try SharedWorkspace(stages: [Self.identify], server: server)
    try shared.put(0..<1)
    try shared.workspace.json("run")
    let certificate = try server.encrypt(shared.database)
    func work(_ authorities: BytePath) throws -> BuiltProgramOutcome {
      let path = authorities.description.replacing("/", with: "%2F")
      let address = try server.networkAddress(
        of: shared.address, "sslmode=verify-full&sslrootcert=\(path)")
      try shared.configure(
        "network.json", stages: [Self.identify], ["catalog": .string(address.uri)])
      return try shared.workspace.run(
        "work", "--until-idle", "--config", "network.json", within: 30)
    }
    try shared.wait(for: "encryption") { try work(certificate).exitCode == 0 }
    let missing = try work("/nowhere/root.crt")
    #expect(
      missing.exitCode == 1 && missing.errors.contains("root certificate file"), "\(missing)")
    let other = try work("/etc/ssl/certs/ca-certificates.crt")
    #expect(other.exitCode == 1 && other.errors.contains("certificate"), "\(other)")
  }

  @Test("Work that is refused later waits until it is let in, and says each reason once")
  func later() throws {
    let setup = try Setup()
    let worker = try setup.shared.startWork()
    try worker.wait(for: "its place") {
      try setup.shared.count("participant WHERE verb = 'work'") == 1
    }
    try setup.requirePassword()
    // A new session needs a new connection.
    worker.signal(SIGHUP)
    try worker.wait(for: "the first reason") { hasSaid("Put the password into", worker) }
    try setup.write("right", mode: 0o644)
    try worker.wait(for: "the second reason") { hasSaid("is not used, because", worker) }
    try setup.write("wrong", mode: 0o600)
    try worker.wait(for: "three tries", within: 120) {
      try setup.server.log.split(separator: "password authentication failed").count > 3
    }
    try setup.write("right", mode: 0o600)
    try setup.shared.database.execute(Self.again)
    try worker.wait(for: "its jobs", within: 120) { try ended(worker) == 2 }
    worker.signal(SIGTERM)
    let end = try worker.wait(within: 30)
    let said = end.output + end.errors
    #expect(end.exitCode == 143 && !said.contains("WARNING"), "\(end)")
    for part in ["Put the password into", "is not used, because", "password authentication failed"]
    {
      #expect(said.split(separator: part).count == 2, "\(part): \(end)")
    }
  }
}
