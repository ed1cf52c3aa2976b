import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import PostgreSQL

/// Servers that are there, and let nobody in before something is changed.
@Suite(
  "A server that refuses",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(2)))
struct ConnectionRefusalTests {
  private func refusal(_ uri: String) -> PostgreSQLError? {
    do {
      try PostgreSQLConnection(try DatabaseLocation(uri), applicationName: "tests").close()
      return nil
    } catch {
      return error as? PostgreSQLError
    }
  }

  /// Waits for what a server does after it has read its configuration again.
  private func wait(until isSo: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(30)
    while try !isSo() {
      try #require(ContinuousClock.now < end)
      usleep(10_000)
    }
  }

  @Test("Without a password, or with a wrong one, waiting does not help, and what would is said")
  func password() throws {
    let server = try PostgreSQLServer()
    let folder = try TemporaryFolder()
    let address = try server.makeDatabase()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    try server.requirePassword("right", connection)
    let file = folder.appending("passwords").description
    let uri = "\(address.uri)&passfile=\(file.replacing("/", with: "%2F"))"
    func expect(_ parts: String..., location: SourceLocation = #_sourceLocation) {
      let error = refusal(uri)
      let message = error?.message ?? "connected"
      #expect(error?.isRefusal == true, sourceLocation: location)
      for part in parts {
        #expect(message.contains(part), "\(message)", sourceLocation: location)
      }
    }
    func write(_ password: String, mode: mode_t) throws {
      try Data("*:*:*:*:\(password)\n".utf8).write(to: URL(filePath: file))
      try #require(chmod(file, mode) == 0)
    }
    expect("no password supplied", "Put the password into")
    try write("right", mode: 0o640)
    expect("no password supplied", "“\(file)” is not used", "chmod 600 ")
    try write("wrong", mode: 0o600)
    expect("password authentication failed", "The password comes from")
    try write("right", mode: 0o600)
    #expect(refusal(uri) == nil)
    try #require(unlink(file) == 0 && mkdir(file, 0o700) == 0)
    expect("“\(file)” is not used: it is no plain file.")
    connection.close()
    try server.stop()
    #expect(refusal(uri)?.code == .connection && refusal(uri)?.isRefusal == false)
  }

  @Test("A certificate that is missing or that nobody vouches for does not come by waiting")
  func certificate() throws {
    let server = try PostgreSQLServer(port: try PostgreSQLServer.freePort())
    let address = try server.makeDatabase()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    func uri(_ mode: String, _ authorities: BytePath) throws -> String {
      let path = authorities.description.replacing("/", with: "%2F")
      return try server.networkAddress(of: address, "sslmode=\(mode)&sslrootcert=\(path)").uri
    }
    let plain = refusal(try uri("require", "/nowhere/root.crt"))
    #expect(plain?.isRefusal == true && plain?.message.contains("SSL was required") == true)
    let certificate = try server.encrypt(connection)
    try wait { refusal(try uri("require", "/nowhere/root.crt")) == nil }
    let missing = refusal(try uri("verify-full", "/nowhere/root.crt"))
    #expect(
      missing?.isRefusal == true && missing?.message.contains("root certificate file") == true)
    let other = refusal(try uri("verify-full", "/etc/ssl/certs/ca-certificates.crt"))
    #expect(other?.isRefusal == true && other?.message.contains("ertificate") == true)
    #expect(refusal(try uri("verify-full", certificate)) == nil)
    let named = try uri("verify-full", certificate).replacing("//localhost:", with: "//elsewhere:")
    let misnamed = refusal(named)
    #expect(misnamed?.isRefusal == true && misnamed?.message.contains("elsewhere") == true)
  }
}
