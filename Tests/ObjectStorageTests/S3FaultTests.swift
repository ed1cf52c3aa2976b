import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import Synchronization
import Testing

@testable import ObjectStorage

/// Answers that a real server gives seldom or never.
@Suite(
  "Odd answers of a store",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(2)))
struct S3FaultTests {
  private let server: ObjectServer
  private let place: String
  private static let text = String(repeating: "0123456789", count: 5000)

  init() throws {
    server = try ObjectServer.shared.get()
    place = server.place()
  }

  /// A client behind a proxy that spoils requests.
  private func faulty(
    _ change: (inout S3Client.RetryPolicy) -> Void = { _ in },
    _ decide: @escaping @Sendable (FaultProxy.Request) -> FaultProxy.Fault
  ) throws -> (S3Client, FaultProxy) {
    let proxy = try FaultProxy(to: server.port, decide)
    var policy = S3Client.RetryPolicy()
    policy.firstPause = .milliseconds(1)
    policy.longestPause = .milliseconds(20)
    change(&policy)
    return (try server.client(place, through: proxy.endpoint, retrying: policy), proxy)
  }

  private func store(_ text: String, as key: String) throws {
    let bytes = Array(text.utf8)
    _ = try server.client(place).put(
      .bytes(bytes), as: key, digest: SHA256.digest(of: bytes), isNew: true)
  }

  /// What a body got, and how it ended.
  private static func read(
    _ key: String, range: Range<Int>? = nil, limit: Int? = nil, _ client: S3Client
  ) -> (text: String, error: FileError?) {
    var bytes: [UInt8] = []
    let error = error { () throws(FileError) in
      try client.get(key, range: range, limit: limit) { piece throws(FileError) in
        bytes.append(contentsOf: piece)
      }
    }
    return (String(decoding: bytes, as: UTF8.self), error)
  }

  private static func error(_ body: () throws(FileError) -> Void) -> FileError? {
    do throws(FileError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  // MARK: Time

  @Test("A copy may be answered late, and with spaces before; other requests may not")
  func late() throws {
    try store("text", as: "k")
    let (client, proxy) = try faulty({
      $0.attempts = 1
      $0.answer = .seconds(1)
      $0.memory = .zero
    }) { request in
      guard request.target.contains("spaces") else { return .late(by: 4) }
      var answer = FaultProxy.Answer(
        200, body: "<?xml version=\"1.0\"?><CopyObjectResult><ETag>e</ETag></CopyObjectResult>")
      answer.spaces = 3
      answer.isForwarded = true
      return .answer(answer)
    }
    defer { proxy.end() }
    try client.copy("k", to: "late")
    try client.copy("k", to: "spaces")
    #expect(
      Self.error { () throws(FileError) in _ = try client.size(of: "k") }?.code == .unavailable)
    #expect(try server.client(place).names(below: "") == ["k", "late", "spaces"])
  }

  @Test("A removal tells of each request without an answer, also if the next one has one")
  func unansweredRemoval() throws {
    let deletions = Atomic(0)
    let (client, proxy) = try faulty { request in
      guard request.method == "DELETE" else { return .none }
      switch deletions.add(1, ordering: .relaxed).newValue {
      case 1: return .lostAnswer
      case 2, 4: return .answer(.error(503, "SlowDown"))
      case 6: return .status(503)
      case 7: return .status(504)
      case 8: return .answer(.error(500, "InternalError"))
      default: return .none
      }
    }
    try store("text", as: "k")
    var losses = 0
    try client.remove("k") { losses += 1 }
    #expect(losses == 1)
    // A refusal is an answer.
    try client.remove("k") { losses += 1 }
    #expect(losses == 1 && deletions.load(ordering: .relaxed) == 5)
    // What a server in between says, or a store whose work failed, is none.
    try client.remove("k") { losses += 1 }
    #expect(losses == 4 && deletions.load(ordering: .relaxed) == 9)
    // Where nothing was sent, nothing is performed.
    proxy.end()
    let error = Self.error { () throws(FileError) in try client.remove("k") { losses += 1 } }
    #expect(error?.code == .unavailable && losses == 4, "\(String(describing: error))")
  }

  @Test("A removal whose answer is lost tells of it also where the connection was used before")
  func unansweredOnUsedConnection() throws {
    let deletions = Atomic(0)
    let (client, proxy) = try faulty { request in
      // The connection stays.
      guard request.method == "DELETE" else { return .status(404) }
      return deletions.add(1, ordering: .relaxed).newValue == 1 ? .lostAnswer : .none
    }
    defer { proxy.end() }
    try store("text", as: "k")
    _ = try? client.names(below: "")
    var losses = 0
    try client.remove("k") { losses += 1 }
    #expect(losses == 1 && deletions.load(ordering: .relaxed) == 2)
  }

  @Test("A copy that something else than a store answers is none")
  func foreignCopy() throws {
    try store("text", as: "k")
    let (client, proxy) = try faulty { request in
      request.method == "PUT"
        ? .answer(FaultProxy.Answer(200, body: "<html><body>Welcome</body></html>")) : .none
    }
    defer { proxy.end() }
    let error = Self.error { () throws(FileError) in try client.copy("k", to: "other") }
    #expect(error?.code == .unavailable, "\(String(describing: error))")
    #expect(try client.size(of: "other") == nil)
  }

  @Test("A body that hardly comes counts as lost")
  func trickle() throws {
    let proxy = try FaultProxy(to: server.port) { _ in
      var answer = FaultProxy.Answer(200)
      answer.spaces = 20
      return .answer(answer)
    }
    defer { proxy.end() }
    let request = HTTPRequest(
      method: "GET", url: proxy.endpoint,
      patience: .init(answer: .seconds(9), flow: .seconds(2)))
    #expect {
      try HTTPConnections().perform(request, isStopped: { false })
    } throws: { error in
      guard case HTTPTransfer.Failure.connection(let reason, _) = error else { return false }
      return reason.contains("kilobyte")
    }
  }

  @Test(
    "An upload that is cut in the middle is made again, and leaves nothing if each is cut",
    arguments: [false, true], [false, true])
  func cut(isLarge: Bool, isEach: Bool) throws {
    let cuts = Atomic(0)
    let (client, proxy) = try faulty({ $0.attempts = 3 }) { request in
      guard request.method == "PUT", !isLarge || request.target.contains("partNumber=2"),
        cuts.add(1, ordering: .relaxed).newValue == 1 || isEach
      else { return .none }
      return .cutRequest(after: isLarge ? 5 << 20 : 20_000)
    }
    defer { proxy.end() }
    let (file, size, digest, folder) = try LargeFile.make()
    defer { withExtendedLifetime(folder) {} }
    let small = Array(Self.text.utf8)
    func put() throws(FileError) -> Bool {
      try isLarge
        ? client.put(file, size: size, as: "k", digest: digest, isNew: true)
        : client.put(.bytes(small), as: "k", digest: SHA256.digest(of: small), isNew: true)
    }
    if isEach {
      let error = Self.error { () throws(FileError) in _ = try put() }
      #expect(error?.code == .unavailable, "\(String(describing: error))")
      #expect(cuts.load(ordering: .relaxed) == 3)
    } else {
      #expect(try put() && cuts.load(ordering: .relaxed) == 2)
      let hash = SHA256()
      try client.get("k") { piece throws(FileError) in hash.update(piece) }
      #expect(hash.finalize() == (isLarge ? digest : SHA256.digest(of: small)))
    }
    let direct = try server.client(place)
    #expect(try direct.names(below: "") == (isEach ? [] : ["k"]))
    #expect(try direct.abandonUploads(below: "") == 0)
  }

  @Test("An upload whose completion was lost counts as done if its object is there")
  func completed() throws {
    let (file, size, digest, folder) = try LargeFile.make()
    defer { withExtendedLifetime(folder) {} }
    let ends = Atomic(0)
    let (client, proxy) = try faulty { request in
      guard request.method == "POST", request.target.contains("uploadId=") else { return .none }
      switch ends.add(1, ordering: .relaxed).newValue {
      case 1: return .answer(.error(200, "InternalError"))
      case 2: return .lostAnswer
      default: return .answer(.error(404, "NoSuchUpload"))
      }
    }
    defer { proxy.end() }
    #expect(try client.put(file, size: size, as: "k", digest: digest, isNew: true))
    #expect(ends.load(ordering: .relaxed) == 3)
    #expect(try client.size(of: "k") == size)
  }

  @Test(
    "An upload that is gone failed if no object, or another, is there", arguments: [false, true])
  func gone(isThere: Bool) throws {
    let (file, size, digest, folder) = try LargeFile.make()
    defer { withExtendedLifetime(folder) {} }
    let direct = try server.client(place)
    if isThere {
      let other = [UInt8](repeating: 0, count: size)
      _ = try direct.put(.bytes(other), as: "k", digest: SHA256.digest(of: other), isNew: true)
    }
    let (client, proxy) = try faulty { request in
      request.method == "POST" && request.target.contains("uploadId=")
        ? .answer(.error(404, "NoSuchUpload")) : .none
    }
    defer { proxy.end() }
    let error = Self.error { () throws(FileError) in
      _ = try client.put(file, size: size, as: "k", digest: digest, isNew: false)
    }
    #expect(error?.code == .other && error?.message.contains("NoSuchUpload") == true)
    #expect(try direct.abandonUploads(below: "") == 0)
  }

  // MARK: Bodies

  @Test("An answer that ends within its headers is lost, and asked for again")
  func cutHead() throws {
    let (client, proxy) = try faulty { $0.number % 2 == 1 ? .cutHead(after: 30) : .none }
    defer { proxy.end() }
    let bytes = Array(Self.text.utf8)
    _ = try client.put(.bytes(bytes), as: "k", digest: SHA256.digest(of: bytes), isNew: true)
    #expect(try client.size(of: "k") == bytes.count)
    #expect(Self.read("k", client) == (Self.text, nil))
    try client.remove("k")
    #expect(try client.size(of: "k") == nil)
  }

  @Test("A server that is started again while a body comes is waited for")
  func restarted() throws {
    try store(Self.text, as: "k")
    let (client, proxy) = try faulty { request in
      switch request.number {
      case 1, 6: .cutBody(after: 9000)
      case 2...4: .lostRequest
      case 5, 7: .status(503)
      default: .none
      }
    }
    defer { proxy.end() }
    #expect(Self.read("k", client) == (Self.text, nil))
    #expect(proxy.requests == 8)
  }

  @Test("What fails here says nothing about the store")
  func local() throws {
    try store(Self.text, as: "k")
    let (client, proxy) = try faulty { (2...3).contains($0.number) ? .lostRequest : .none }
    defer { proxy.end() }
    let error = Self.error { () throws(FileError) in
      try client.get("k") { _ throws(FileError) in throw FileError(.noSpace, "Full.", path: nil) }
    }
    #expect(error?.code == .noSpace)
    #expect(try client.size(of: "k") == 50_000)
  }

  @Test(
    "Only the part that was asked for is taken",
    arguments: [
      FaultProxy.Answer(200, body: text), .init(206, body: "0123456789"),
      .init(206, ["Content-Range": "bytes 0-9/50000"], body: "0123456789"),
      .init(206, ["Content-Range": "bytes 10-18/50000"], body: "012345678"),
      .init(206, ["Content-Range": "bytes 10-49999/50000"], body: text),
      .init(206, ["Content-Range": "bytes 10-19/15"], body: "0123456789"),
      .init(200),
    ])
  func wrongPart(answer: FaultProxy.Answer) throws {
    let (client, proxy) = try faulty { _ in .answer(answer) }
    defer { proxy.end() }
    let (text, error) = Self.read("k", range: 10..<20, client)
    #expect(text == "" && error?.code == .unavailable)
    #expect(proxy.requests == 1)
  }

  @Test("A rest that ends behind all numbers is refused", arguments: ["50000", "*"])
  func endlessRest(total: String) throws {
    try store(Self.text, as: "k")
    let (client, proxy) = try faulty {
      $0.number == 1
        ? .cutBody(after: 9000)
        : .answer(.init(206, ["Content-Range": "bytes 9000-\(Int.max)/\(total)"], body: "0"))
    }
    defer { proxy.end() }
    let (text, error) = Self.read("k", client)
    #expect(text.count == 9000 && error?.code == .unavailable)
  }

  @Test("The rest of a body is not taken from a server that sends all of it again")
  func wrongRest() throws {
    try store(Self.text, as: "k")
    let (client, proxy) = try faulty {
      $0.number == 1 ? .cutBody(after: 9000) : .answer(.init(200, body: Self.text))
    }
    defer { proxy.end() }
    let (text, error) = Self.read("k", client)
    #expect(text.count == 9000 && error?.code == .unavailable)
  }

  @Test("A part may be longer than the rest of its object, or empty")
  func rest() throws {
    try store("0123456789", as: "k")
    let client = try server.client(place)
    #expect(Self.read("k", range: 8..<100, client) == ("89", nil))
    #expect(Self.read("k", range: 8..<8, client) == ("", nil))
  }

  @Test("The number of bytes is told once, before the first, or the body is refused")
  func told() throws {
    try store(Self.text, as: "k")
    try store("", as: "empty")
    func read(_ key: String, _ client: S3Client) -> (log: [Int], error: FileError?) {
      var log: [Int] = []
      let error = Self.error { () throws(FileError) in
        try client.get(key, began: { log.append(-$0) }) { piece throws(FileError) in
          log.append(piece.count)
        }
      }
      return (log, error)
    }
    // Cut, and taken up where it was.
    let (client, _) = try faulty { $0.number == 1 ? .cutBody(after: 20_000) : .none }
    let (log, error) = read("k", client)
    #expect(error == nil && log.first == -50_000)
    #expect(log.count { $0 <= 0 } == 1 && log.dropFirst().reduce(0, +) == 50_000, "\(log)")
    let (none, noError) = read("empty", client)
    #expect(noError == nil && none == [0])
    let (endless, _) = try faulty { _ in
      var answer = FaultProxy.Answer(200, body: "some bytes")
      answer.hasLength = false
      return .answer(answer)
    }
    let (nothing, refusal) = read("k", endless)
    #expect(nothing == [] && refusal?.code == .unavailable)
  }

  @Test("A body has a limit")
  func limit() throws {
    try store(Self.text, as: "k")
    let client = try server.client(place)
    #expect(Self.read("k", limit: 50_000, client) == (Self.text, nil))
    let (text, error) = Self.read("k", limit: 49_999, client)
    #expect(text.count < 50_000 && error?.code == .unavailable)
    #expect(error?.message.contains("sends more than 49999 bytes") == true)
  }

  @Test(
    "Sizes that no object has are refused", arguments: ["-5", "0", "99999999999999999", "*", "x"])
  func sizes(total: String) throws {
    let (client, proxy) = try faulty { _ in
      .answer(.init(206, ["Content-Range": "bytes 0-0/\(total)"], body: "0"))
    }
    defer { proxy.end() }
    #expect(
      Self.error { () throws(FileError) in _ = try client.size(of: "k") }?.code == .unavailable)
  }

  // MARK: Refusals

  @Test(
    "What a store refuses for one object is told apart from a store that is away",
    arguments: [
      (FaultProxy.Answer.error(400, "EntityTooLarge"), FileError.Code.other),
      (.error(400, "InvalidRequest"), .other), (.error(403, "InvalidObjectState"), .other),
      (.init(413), .other), (.error(409, "ConditionalRequestConflict"), .other),
      (.error(403, "AccessDenied"), .unavailable), (.error(403, "QuotaExceeded"), .unavailable),
      (.error(400, "XMinioAdminBucketQuotaExceeded"), .unavailable),
      (.error(400, "ExpiredToken"), .unavailable), (.error(404, "NoSuchBucket"), .unavailable),
      (.init(400, body: "<html>"), .unavailable), (.init(404), .unavailable),
      (.init(503), .unavailable),
    ])
  func refusals(answer: FaultProxy.Answer, code: FileError.Code) throws {
    let (client, proxy) = try faulty { _ in .answer(answer) }
    defer { proxy.end() }
    let error = Self.error { () throws(FileError) in
      _ = try client.put(.bytes([1]), as: "a/b", digest: SHA256.digest(of: [1]), isNew: true)
    }
    #expect(error?.code == code)
    #expect(error?.message.contains("\(answer.status)") == true)
    #expect(error?.message.contains("a/b") == (code == .other))
    // A listing is about no object.
    let other = Self.error { () throws(FileError) in _ = try client.names(below: "") }
    #expect(other?.code == .unavailable)
  }

  @Test(
    "A conflict with another request passes",
    arguments: ["ConditionalRequestConflict", "OperationAborted"])
  func conflict(code: String) throws {
    let (client, proxy) = try faulty { $0.number < 4 ? .answer(.error(409, code)) : .none }
    defer { proxy.end() }
    #expect(
      try client.put(.bytes([1]), as: "k", digest: SHA256.digest(of: [1]), isNew: true))
    #expect(proxy.requests == 4)
  }

  @Test("What a store says is one line of bounded length")
  func messages() {
    let text = String(repeating: "long\n\u{202e} ", count: 100)
    let body = "<Error><Code>A\nB</Code><Message>\(text)</Message></Error>"
    let error = S3Error(HTTPResponse(status: 400, body: Array(body.utf8)))
    #expect(error.code == "A B" && error.message.unicodeScalars.count == 300)
    #expect(error.message.printable == error.message)
  }

  @Test("The rights that are needed are named")
  func rights() throws {
    let (client, proxy) = try faulty { _ in .answer(.error(403, "AccessDenied")) }
    defer { proxy.end() }
    let error = Self.error { () throws(FileError) in _ = try client.abandonUploads(below: "") }
    #expect(error?.message.contains("ListBucketMultipartUploads") == true)
  }

  @Test("Credentials that were replaced in their file are read again, once")
  func rotated() throws {
    let home = try TemporaryFolder()
    let environment = server.environment()
    let path = home.appending("credentials")
    func write(_ secret: String?) throws {
      let id = try #require(environment["AWS_ACCESS_KEY_ID"])
      let secret = try secret ?? #require(environment["AWS_SECRET_ACCESS_KEY"])
      let text = "[default]\naws_access_key_id = \(id)\naws_secret_access_key = \(secret)\n"
      try Descriptor.openFolder(home.path).writeDurably(Array(text.utf8), as: "credentials")
      try #require(chmod("\(path)", 0o600) == 0)
    }
    let proxy = try FaultProxy(to: server.port) { _ in .none }
    defer { proxy.end() }
    try write("old")
    let client = try S3Client(
      BucketLocation("s3://\(place)"),
      environment: [
        "AWS_SHARED_CREDENTIALS_FILE": "\(path)", "AWS_ENDPOINT_URL": proxy.endpoint,
        "HOME": "\(home.path)",
      ], isStopped: { false })
    #expect(throws: FileError.self) { try client.names(below: "") }
    #expect(proxy.requests == 1)
    try write("other")
    #expect(throws: FileError.self) { try client.names(below: "") }
    #expect(proxy.requests == 3)
    try write(nil)
    #expect(try client.names(below: "").isEmpty)
    #expect(try client.names(below: "").isEmpty)
    #expect(proxy.requests == 6)
  }

  // MARK: Listings

  /// A page of a listing of objects.
  private static func page(_ names: [String], next: String) -> FaultProxy.Fault {
    let items = names.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
    return .answer(
      .init(
        200,
        body: "<ListBucketResult><IsTruncated>true</IsTruncated>\(items)"
          + "<NextContinuationToken>\(next)</NextContinuationToken></ListBucketResult>"))
  }

  @Test("A listing that does not get on is ended", arguments: [["k"], []])
  func endlessListing(names: [String]) throws {
    let prefix = try server.client(place).location.prefix
    let (client, proxy) = try faulty { request in
      Self.page(names.map { "\(prefix)/\($0)" }, next: "\(request.number)")
    }
    defer { proxy.end() }
    let codes = [
      Self.error { () throws(FileError) in try client.list("") { _ throws(FileError) in } },
      Self.error { () throws(FileError) in _ = try client.names(below: "") },
    ].map { $0?.code }
    #expect(codes == [.unavailable, .unavailable])
    #expect(proxy.requests <= 200)
  }

  @Test("A listing whose second page fails, or is cut, is an error")
  func failingPage() throws {
    let prefix = try server.client(place).location.prefix
    let whole = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    let spoiled: [FaultProxy.Fault] = [
      .status(503), .answer(.error(500, "InternalError")), .lostAnswer,
      .answer(.init(200, body: String(whole.dropLast(10)))), .answer(.init(200, body: "")),
      .answer(.error(200, "InternalError")),
    ]
    for fault in spoiled {
      let (client, proxy) = try faulty { request in
        request.target.contains("continuation-token")
          ? fault : Self.page(["\(prefix)/a", "\(prefix)/b"], next: "next")
      }
      defer { proxy.end() }
      var keys: [String] = []
      let error = Self.error { () throws(FileError) in
        try client.list("") { entry throws(FileError) in keys.append(entry.key) }
      }
      #expect(error?.code == .unavailable, "\(fault): \(keys)")
      #expect(Self.error { () throws(FileError) in _ = try client.names(below: "") } != nil)
      #expect(keys == ["a", "b"])
    }
  }

  @Test("A listing of uploads gets on though nothing can be ended")
  func uploads() throws {
    let prefix = try server.client(place).location.prefix
    let (client, proxy) = try faulty { request in
      guard request.method == "GET" else { return .answer(.init(204)) }
      let isSecond = request.target.contains("key-marker=\(prefix)%2Fa&")
      let hasUpload = request.target.contains("upload-id-marker=1&")
      let isLast = isSecond && hasUpload
      let name = isLast ? "b" : "a"
      return .answer(
        .init(
          200,
          body: "<ListMultipartUploadsResult><IsTruncated>\(!isLast)</IsTruncated>"
            + "<NextKeyMarker>\(prefix)/a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
            + "<Upload><Key>\(prefix)/\(name)</Key><UploadId>1</UploadId></Upload>"
            + "</ListMultipartUploadsResult>"))
    }
    defer { proxy.end() }
    #expect(try client.abandonUploads(below: "") == 2)
    #expect(proxy.requests == 4)
  }

  @Test("A listing of uploads that does not get on is ended")
  func endlessUploads() throws {
    let (client, proxy) = try faulty { request in
      .answer(
        .init(
          200,
          body: "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
            + "<NextKeyMarker>\(request.number % 2)</NextKeyMarker></ListMultipartUploadsResult>"))
    }
    defer { proxy.end() }
    #expect(
      Self.error { () throws(FileError) in _ = try client.abandonUploads(below: "") }?.code
        == .unavailable)
    #expect(proxy.requests < 4)
  }
}
