import Foundation
import Glibc
import PipelineModel
import Synchronization
import Testing

@testable import PostgreSQL

/// Which connections must be encrypted.
@Suite("The security of a connection", .timeLimit(.minutes(1)))
struct SecurityTests {
  @Test(
    "Only hosts elsewhere get a mode, and only if nothing chose one",
    arguments: [
      (nil, nil, "prefer", false), ("/run/postgresql", nil, "prefer", false),
      ("localhost,127.0.0.1,::1", nil, "prefer", false), ("db.example", nil, "prefer", true),
      ("localhost,db.example", nil, "prefer", true), ("127.0.0.1.example", nil, "prefer", true),
      ("localhost", "192.0.2.1", "prefer", true), ("db.example", nil, "require", false),
    ])
  func modes(host: String?, address: String?, mode: String, isAdded: Bool) {
    let values = ["host": host, "hostaddr": address, "sslmode": mode, "sslrootcert": "/a"]
    let added = PostgreSQLSecurity.parameters { values[$0] ?? nil }
    #expect(added.map(\.0) == (isAdded ? ["sslmode"] : []))
    #expect(added.allSatisfy { $0.1 == "verify-full" })
  }

  @Test("A server elsewhere that refuses encryption learns nothing, unless the address says so")
  func refusal() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        _ = bind(listener, generic, length)
        _ = getsockname(listener, generic, &length)
      }
    }
    try #require(listen(listener, 4) == 0)
    defer { Glibc.close(listener) }
    let received = Received()
    let thread = Thread {
      while case let client = accept(listener, nil, nil), client >= 0 {
        var buffer = [UInt8](repeating: 0, count: 1024)
        // The request for encryption, which is refused; what follows must be nothing.
        while case let count = read(client, &buffer, buffer.count), count > 0 {
          received.add(buffer[..<count])
          if count == 8 { _ = write(client, "N", 1) } else { break }
        }
        Glibc.close(client)
      }
    }
    thread.start()
    let port = UInt16(bigEndian: address.sin_port)
    let uri = "postgresql://anna@db.example:\(port)/photos?hostaddr=127.0.0.1&gssencmode=disable"
    let error = #expect(throws: PostgreSQLError.self) {
      _ = try PostgreSQLConnection(try DatabaseLocation(uri), applicationName: "tests")
    }
    // Where all names of the system's authorities are missing, that is told instead.
    let isTold = ["SSL", "certificate"].contains { error?.message.contains($0) == true }
    let isRefusal = error?.message.contains("SSL was required") == true
    #expect(!isRefusal || error?.message.contains("?sslmode=prefer") == true)
    let chosen = #expect(throws: PostgreSQLError.self) {
      _ = try PostgreSQLConnection(
        try DatabaseLocation(uri + "&sslmode=require"), applicationName: "tests")
    }
    #expect(chosen?.message.contains("SSL was required") == true)
    #expect(chosen?.message.contains("sslmode=prefer") == false)
    #expect(isTold && !received.text.contains("anna"))
    #expect(throws: PostgreSQLError.self) {
      _ = try PostgreSQLConnection(
        try DatabaseLocation(uri + "&sslmode=prefer"), applicationName: "tests")
    }
    #expect(received.text.contains("anna"))
  }

  private final class Received: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    func add(_ more: ArraySlice<UInt8>) { bytes.withLock { $0 += more } }
    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  }
}
