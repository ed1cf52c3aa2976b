import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A client that sends just the bytes that it is told, and reads what comes until the server closes.
struct HTTPClient {
  enum Place: Sendable {
    case port(UInt16)
    case socket(BytePath)
  }

  let place: Place

  /// Connects; the caller closes.
  func connect() throws -> Int32 {
    let family = if case .port = place { AF_INET } else { AF_UNIX }
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = socket(family, kind, 0)
    try #require(number >= 0)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    let result: Int32
    switch place {
    case .port(let port):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      result = Self.connect(number, &address)
    case .socket(let path):
      result = LocalAddress.with(path.description) { Glibc.connect(number, $0, $1) }
    }
    guard result == 0 else {
      let code = errno
      close(number)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
    return number
  }

  private static func connect<Address>(_ number: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(number, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  /// Sends bytes, and returns all that comes; what is cut off by a reset is left out.
  ///
  /// It does not end its side: libmicrohttpd takes that for the end of the client, if it is early.
  func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
    let number = try connect()
    defer { close(number) }
    // A server may refuse before it has all.
    _ = bytes.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    return try Self.readAll(number)
  }

  /// Sends many requests at once, a connection each: what never becomes a whole request is awaited once
  /// for all until the server sends it away.
  func exchangeAll(_ requests: [[UInt8]]) throws -> [[UInt8]] {
    var answers = [[UInt8]](repeating: [], count: requests.count)
    try exchange(requests.count, atOnce: requests.count) {
      requests[$0]
    } answered: { index, _, bytes in
      answers[index] = bytes
    }
    return answers
  }

  /// Sends one request after another, a connection each, of which so many are open at a time.
  ///
  /// Whichever ends makes room for the next: what never becomes a whole request holds up nothing else
  /// until the server sends it away.
  ///
  /// - Parameters:
  ///   - next: makes each request, by its number.
  ///   - answered: called with each request, its number and all that came.
  func exchange(
    _ count: Int, atOnce: Int, _ next: (Int) -> [UInt8],
    answered: (_ index: Int, _ request: [UInt8], _ answer: [UInt8]) throws -> Void
  ) throws {
    var open: [(number: Int32, index: Int, request: [UInt8], answer: [UInt8])] = []
    defer { for exchange in open { close(exchange.number) } }
    var unsent = count
    while unsent > 0 || !open.isEmpty {
      while unsent > 0, open.count < atOnce {
        let index = count - unsent
        let request = next(index)
        open.append((try connect(), index, request, []))
        unsent -= 1
        _ = request.withUnsafeBytes {
          Glibc.send(open[open.count - 1].number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
      }
      var polled = open.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
      let ready = poll(&polled, nfds_t(polled.count), 60_000)
      try #require(ready > 0, "The server neither answers nor closes \(open.count) connections.")
      for index in open.indices.reversed() where polled[index].revents != 0 {
        guard try !Self.readSome(open[index].number, &open[index].answer) else { continue }
        let ended = open.remove(at: index)
        close(ended.number)
        try answered(ended.index, ended.request, ended.answer)
      }
    }
  }

  static func readAll(_ number: Int32) throws -> [UInt8] {
    var all: [UInt8] = []
    while try readSome(number, &all) {}
    return all
  }

  /// Reads what is there, or waits for something.
  ///
  /// - Returns: whether more may come.
  private static func readSome(_ number: Int32, _ all: inout [UInt8]) throws -> Bool {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(number, &buffer, buffer.count, 0)
    if count > 0 { all += buffer[..<count] }
    if count >= 0 { return count > 0 }
    if errno == EINTR { return true }
    try #require(errno == ECONNRESET, "The server neither answered nor closed: \(errno)")
    return false
  }

  /// Reads until something is in what came.
  static func read(_ number: Int32, until text: String) throws -> String {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !String(decoding: all, as: UTF8.self).contains(text) {
      let count = recv(number, &buffer, buffer.count, 0)
      try #require(count > 0, "“\(text)” did not come, but \(String(decoding: all, as: UTF8.self))")
      all += buffer[..<count]
    }
    return String(decoding: all, as: UTF8.self)
  }

  /// The bytes of a request that closes its connection.
  static func request(
    _ method: String, _ target: String, _ headers: [String: String] = [:], body: String? = nil
  ) -> [UInt8] {
    var lines = ["\(method) \(target) HTTP/1.1"]
    var headers = ["Host": "localhost", "Connection": "close"].merging(headers) { $1 }
    if let body { headers["Content-Length"] = "\(body.utf8.count)" }
    lines += headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
  }

  func send(
    _ method: String = "GET", _ target: String, _ headers: [String: String] = [:],
    body: String? = nil
  ) throws -> HTTPAnswer {
    try HTTPAnswer(exchange(Self.request(method, target, headers, body: body)))
  }
}

/// An answer of a server.
struct HTTPAnswer {
  let status: Int
  /// By name in lower case.
  let headers: [String: String]
  let body: [UInt8]

  init(_ bytes: [UInt8]) throws {
    let end = try #require(
      bytes.firstRange(of: Array("\r\n\r\n".utf8)), "\(String(decoding: bytes, as: UTF8.self))")
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(
      separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    try #require(words.count >= 2 && words[0].hasPrefix("HTTP/1."))
    status = try #require(Int(words[1]))
    headers = Dictionary(
      lines.dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (
          parts[0].lowercased(),
          parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        )
      }, uniquingKeysWith: { "\($0), \($1)" })
    body = Array(bytes[end.upperBound...])
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  func json() throws -> JSONValue { try JSONText.decode(JSONValue.self, from: body) }
}
