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

  private static func error(_ body: () throws(FileError) -> Void) -> FileError? {
    do throws(FileError) {
      try body()
      return nil
    } catch {
      return error
    }
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
}
