import Files
import Foundation
import Glibc
import Synchronization

/// A proxy on loopback in front of an HTTP server, that spoils what tests want spoiled.
///
/// It speaks plain HTTP/1.1. Each request is read whole, and sent on a connection of its own.
package final class FaultProxy: Sendable {
  /// What becomes of a request and its answer.
  package enum Fault: Sendable {
    case none
    /// The connection is closed before the server gets anything.
    case lostRequest
    /// Both connections are closed after the server got so many bytes of the request's body.
    case cutRequest(after: Int)
    /// The server gets the request; the connection is closed before its answer.
    case lostAnswer
    /// The connection is closed after so many bytes of the answer's headers.
    case cutHead(after: Int)
    /// The connection is closed after so many bytes of the answer's body.
    case cutBody(after: Int)
    /// One byte of the request's body is changed on the way.
    case changedRequest
    /// One byte of the answer's body is changed on the way.
    case changedAnswer
    /// The server gets nothing; this is the answer's status.
    case status(Int)
    /// The server gets the request; nothing comes back until the proxy ends.
    case stall
    /// The answer comes after so many seconds.
    case late(by: Int)
    /// This is the answer.
    case answer(Answer)
  }

  /// An answer that is not the server's.
  package struct Answer: Sendable {
    package var status: Int
    package var headers: [String: String]
    package var body: String
    /// For how many seconds there are only spaces before the body.
    package var spaces = 0
    /// Whether the server gets the request.
    package var isForwarded = false
    /// Whether it says how long its body is; otherwise that ends with the connection.
    package var hasLength = true

    package init(_ status: Int, _ headers: [String: String] = [:], body: String = "") {
      (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// An error as S3 has it.
    package static func error(_ status: Int, _ code: String) -> Answer {
      Answer(status, body: "<Error><Code>\(code)</Code><Message>As told.</Message></Error>")
    }
  }

  /// A request as the proxy sees it.
  package struct Request: Sendable {
    package var method: String
    /// With its query.
    package var target: String
    /// From one, in the order of their arrival.
    package var number: Int
  }

  private let listener: Int32
  private let server: Int
  /// What becomes of each request.
  private let decide: @Sendable (Request) -> Fault
  private let state = Mutex(State())

  private struct State {
    var count = 0
    var isEnded = false
  }

  package let port: Int
  package var endpoint: String { "http://127.0.0.1:\(port)" }
  /// How many requests came.
  package var requests: Int { state.withLock { $0.count } }

  /// - Parameter server: the port of the server.
  package init(to server: Int, _ decide: @escaping @Sendable (Request) -> Fault) throws {
    self.server = server
    self.decide = decide
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = Self.address(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    try DedicatedThread.start { [self] in
      while !state.withLock({ $0.isEnded }) {
        let client = accept(listener, nil, nil)
        if client < 0 { return }
        // Without another thread, the client finds the connection closed.
        if (try? DedicatedThread.start { [self] in serve(client) }) == nil { close(client) }
      }
    }
  }

  /// Closes everything.
  package func end() {
    state.withLock { $0.isEnded = true }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Whether nobody listens on a port of loopback.
  static func isFree(port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    defer { close(descriptor) }
    var address = address(port: port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func address(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  // MARK: One connection

  private func serve(_ client: Int32) {
    defer { close(client) }
    var rest: [UInt8] = []
    while let message = Self.read(from: client, &rest) {
      let number = state.withLock { state in
        state.count += 1
        return state.count
      }
      let words = message.firstLine.split(separator: " ")
      guard words.count >= 2 else { return }
      let fault = decide(
        Request(method: String(words[0]), target: String(words[1]), number: number))
      if !answer(message, client, fault) { return }
    }
  }

  /// - Returns: whether the connection stays.
  private func answer(_ request: Message, _ client: Int32, _ fault: Fault) -> Bool {
    var request = request
    switch fault {
    case .lostRequest: return false
    case .cutRequest(let count):
      _ = forward(request, cutAfter: count)
      return false
    case .status(let status):
      let text = "HTTP/1.1 \(status) Fault\r\nContent-Length: 0\r\n\r\n"
      return Self.write(Array(text.utf8), to: client)
    case .answer(let answer):
      if answer.isForwarded, forward(request) == nil { return false }
      tell(answer, to: client)
      return false
    case .changedRequest:
      if let last = request.body.indices.last { request.body[last] ^= 1 }
    default: break
    }
    guard var response = forward(request) else { return false }
    switch fault {
    case .lostAnswer: return false
    case .late(let seconds): sleep(UInt32(seconds))
    case .stall:
      while !state.withLock({ $0.isEnded }) { usleep(20_000) }
      return false
    case .cutHead(let count):
      _ = Self.write(Array(response.prefix(count)), to: client)
      return false
    case .cutBody(let count):
      let end = Self.endOfHead(response) ?? response.count
      _ = Self.write(Array(response.prefix(end + count)), to: client)
      return false
    case .changedAnswer:
      if Self.endOfHead(response) != response.count, let last = response.indices.last {
        response[last] ^= 1
      }
    default: break
    }
    // The server closed its connection, so the client has to, too.
    _ = Self.write(response, to: client)
    return false
  }

  private func tell(_ answer: Answer, to client: Int32) {
    var head = "HTTP/1.1 \(answer.status) Fault\r\nConnection: close\r\n"
    for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
    if answer.hasLength {
      head += "Content-Length: \(answer.spaces + answer.body.utf8.count)\r\n"
    }
    head += "\r\n"
    guard Self.write(Array(head.utf8), to: client) else { return }
    for _ in 0..<answer.spaces {
      guard Self.write([0x20], to: client) else { return }
      sleep(1)
    }
    _ = Self.write(Array(answer.body.utf8), to: client)
  }

  /// Sends a request, and returns all that comes back.
  ///
  /// - Parameter cut: where the body ends too early; then nothing is waited for.
  private func forward(_ request: Message, cutAfter cut: Int? = nil) -> [UInt8]? {
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    defer { close(upstream) }
    var address = Self.address(port: server)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    let head = request.head.dropLast(2) + Array("Connection: close\r\n\r\n".utf8)
    let body = request.body.prefix(cut ?? .max)
    guard isConnected, Self.write(Array(head) + body, to: upstream), cut == nil else { return nil }
    var response: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(upstream, &buffer, buffer.count, 0)
      if count <= 0 { return response.isEmpty ? nil : response }
      response += buffer[..<count]
    }
  }

  // MARK: Messages

  private struct Message {
    /// With the empty line at its end.
    var head: [UInt8]
    var body: [UInt8]

    var firstLine: String { String(decoding: head.prefix { $0 != 0x0D }, as: UTF8.self) }
  }

  /// - Parameter rest: what was read beyond the message.
  private static func read(from client: Int32, _ rest: inout [UInt8]) -> Message? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while endOfHead(rest) == nil {
      let count = recv(client, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      rest += buffer[..<count]
    }
    guard let end = endOfHead(rest) else { return nil }
    let head = Array(rest[..<end])
    let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    let length = lines.first { $0.hasPrefix("content-length:") }
    let size = length.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
    while rest.count < end + size {
      let count = recv(client, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      rest += buffer[..<count]
    }
    let message = Message(head: head, body: Array(rest[end..<end + size]))
    rest.removeFirst(end + size)
    return message
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    for index in 0...(bytes.count - 4)
    where bytes[index] == 0x0D && bytes[index + 1] == 0x0A && bytes[index + 2] == 0x0D
      && bytes[index + 3] == 0x0A
    {
      return index + 4
    }
    return nil
  }

  private static func write(_ bytes: [UInt8], to socket: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        send(socket, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }
}
