import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `serve` as built, asked by strangers.
///
/// With `PIPELINE_REQUESTS` so many changed requests are sent; otherwise some thousand.
@Suite("Hostile requests", .timeLimit(.minutes(120)), .seeded)
struct HostileRequestTests {
  /// Words of a file beside the library, which no answer may have.
  private static let secret = "what nobody may read"
  /// How many connections are open together.
  private static let atOnce = 500
  /// What the process that answers may have more after all of it, in KiB.
  private static let growth = 48 << 10
  /// Whether this is built with the address sanitizer, which reuses memory late.
  private static let keepsFreedMemory = dlsym(nil, "__asan_init") != nil

  private func served() throws -> ServedLibrary {
    let workspace = try ServedLibrary.made()
    try workspace.write(Array(Self.secret.utf8), to: "secret")
    try workspace.write(Array(Self.secret.utf8), to: "library/secret")
    return try ServedLibrary(workspace, "--allow", "tag,trash,retry")
  }

  private func memory(_ process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.firstMatch(of: /VmRSS:\s+(\d+) kB/)?.output.1)
    return try #require(Int(line))
  }

  @Test("Each ends as it must, and tells nothing")
  func table() throws {
    let served = try served()
    let id = try served.id("a.jpg")
    let requests = HostileRequest.all(id)
    #expect(requests.count > 150)
    let all = try served.client.exchangeAll(requests.map(\.bytes))
    let errors = String(decoding: served.run.errorsSoFar, as: UTF8.self)
    try #require(served.run.isRunning && errors.isEmpty, "\(errors)")
    for (request, bytes) in zip(requests, all) {
      let shown = String(decoding: request.bytes.prefix(150), as: UTF8.self).debugDescription
      guard !bytes.isEmpty else {
        #expect(request.statuses.contains(0), "\(shown) got no answer")
        continue
      }
      let answer = try HTTPAnswer(bytes)
      #expect(request.statuses.contains(answer.status), "\(shown): \(answer.status) \(answer.text)")
      #expect(!answer.text.contains(Self.secret), "\(shown)")
      guard answer.headers["content-type"] != nil else { continue }
      #expect(answer.headers["x-content-type-options"] == "nosniff", "\(shown)")
      #expect(answer.headers["content-security-policy"] != nil, "\(shown)")
    }
    // A zero byte ends what libmicrohttpd passes on, so nothing behind it counts.
    let zero = Array(
      "GET /\0../secret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    let bytes = try served.client.exchange(zero)
    #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.secret))
    #expect(try served.get("/healthz").status == 200)
    try served.stop()
  }

  @Test("Requests changed at random neither crash it, nor fail in it, nor let it grow")
  func mutations() throws {
    let served = try served()
    let id = try served.id("a.jpg")
    let url = try #require(try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string)
    let seeds = HostileRequest.seeds(id, url)
    let count =
      ProcessInfo.processInfo.environment["PIPELINE_REQUESTS"].flatMap { Int($0) } ?? 3000
    let server = try served.server()
    var random = SeededRandom(for: "requests")
    var before = 0
    var statuses: [Int: Int] = [:]
    var answered = 0
    try served.client.exchange(count, atOnce: Self.atOnce) { _ in
      HostileRequest.mutated(seeds, &random)
    } answered: { _, request, bytes in
      answered += 1
      if answered == min(count, Self.atOnce) { before = try memory(server) }
      guard !bytes.isEmpty else {
        statuses[0, default: 0] += 1
        return
      }
      let answer = try HTTPAnswer(bytes)
      statuses[answer.status, default: 0] += 1
      let shown = String(decoding: request, as: UTF8.self).debugDescription
      // The server may be busy with so many; it may not know a version or a way to send a body.
      #expect(answer.status < 500 || [501, 503, 505].contains(answer.status), "\(shown)")
      #expect(!answer.text.contains(Self.secret), "\(shown)")
    }
    // They got past the first check and were refused there, both often.
    #expect(
      statuses[200, default: 0] > count / 50 && statuses[400, default: 0] > count / 50,
      "\(statuses)")
    if !Self.keepsFreedMemory { #expect(try memory(server) < before + Self.growth) }
    #expect(try served.server() == server)
    #expect(try served.get("/api/v1/grid").status == 200)
    try served.stop()
  }

  @Test("Slow and idle clients keep nobody else waiting, and are sent away")
  func slow() throws {
    let served = try served()
    let id = try served.id("a.jpg")
    var slow: [Int32] = []
    defer { for number in slow { close(number) } }
    for index in 0..<300 {
      let number = try served.client.connect()
      slow.append(number)
      guard index % 2 == 0 else { continue }
      let part = Array("GET /o/\(id) HTTP/1.1\r\nHost: loc".utf8)
      send(number, part, part.count, Int32(MSG_NOSIGNAL))
    }
    let start = ContinuousClock.now
    for _ in 0..<100 { #expect(try served.get("/healthz").status == 200) }
    #expect(ContinuousClock.now - start < .seconds(5))
    // A byte now and then does not keep a connection.
    let trickling = slow[0]
    var isOpen = true
    let deadline = ContinuousClock.now + .seconds(40)
    while isOpen, ContinuousClock.now < deadline {
      usleep(300_000)
      isOpen = send(trickling, [UInt8(ascii: "x")], 1, Int32(MSG_NOSIGNAL)) == 1
    }
    #expect(!isOpen)
    for number in slow.dropFirst() { #expect(try HTTPClient.readAll(number).isEmpty) }
    try served.stop()
  }
}
