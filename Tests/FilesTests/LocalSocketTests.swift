import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Local sockets", .timeLimit(.minutes(1)))
struct LocalSocketTests {
  let temporary: TemporaryFolder
  let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
  }

  /// Reads a number of bytes.
  private func read(_ count: Int, from socket: LocalSocket) throws -> [UInt8] {
    var bytes: [UInt8] = []
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { buffer.deallocate() }
    while bytes.count < count {
      let read = try socket.descriptor.read(into: buffer)
      try #require(read > 0)
      bytes += buffer[..<read]
    }
    return bytes
  }

  @Test("What one end sends the other reads, and each knows the other's user")
  func talk() throws {
    let listener = try LocalSocket.listen(as: "control", in: folder)
    let client = try #require(try LocalSocket.connect(to: "control", in: folder))
    let server = try #require(try listener.accept())
    try client.send(Array("question\n".utf8))
    #expect(try read(9, from: server) == Array("question\n".utf8))
    try server.send(Array("answer\n".utf8))
    #expect(try read(7, from: client) == Array("answer\n".utf8))
    #expect(try client.peer() == geteuid())
    #expect(try server.peer() == geteuid())
  }

  @Test("The name is the owner's alone")
  func permissions() throws {
    let mask = umask(0)
    defer { umask(mask) }
    let listener = try LocalSocket.listen(as: "control", in: folder)
    let status = try folder.status(of: "control")
    #expect(status.kind == .socket && status.permissions == 0o600)
    withExtendedLifetime(listener) {}
  }

  @Test("Nobody listens where there is no name, nor behind one that was left")
  func nobody() throws {
    #expect(try LocalSocket.connect(to: "control", in: folder) == nil)
    var listener: LocalSocket? = try LocalSocket.listen(as: "control", in: folder)
    #expect(try LocalSocket.connect(to: "control", in: folder) != nil)
    #expect(listener != nil)
    listener = nil
    #expect(try folder.status(of: "control").kind == .socket)
    #expect(try LocalSocket.connect(to: "control", in: folder) == nil)
    // The next one takes the name over.
    listener = try LocalSocket.listen(as: "control", in: folder)
    #expect(try LocalSocket.connect(to: "control", in: folder) != nil)
  }

  @Test("A folder may lie deeper than an address is long")
  func depth() throws {
    var deep = folder
    for _ in 0..<6 {
      let name = BytePath(String(repeating: "d", count: 60))
      try deep.makeFolder(name)
      deep = try Descriptor.openFolder(name, in: deep)
    }
    let listener = try LocalSocket.listen(as: "control", in: deep)
    #expect(try LocalSocket.connect(to: "control", in: deep) != nil)
    withExtendedLifetime(listener) {}
  }

  @Test("Without a connection that waits, there is none")
  func noConnection() throws {
    let listener = try LocalSocket.listen(as: "control", in: folder)
    try listener.descriptor.setNonBlocking()
    #expect(try listener.accept() == nil)
  }

  @Test("Writing to an end that has gone is an error and no signal")
  func gone() throws {
    let listener = try LocalSocket.listen(as: "control", in: folder)
    let client = try #require(try LocalSocket.connect(to: "control", in: folder))
    var server = try listener.accept()
    #expect(server != nil)
    server = nil
    #expect(throws: FileError.self) {
      for _ in 0..<10 { try client.send([1]) }
    }
  }
}
