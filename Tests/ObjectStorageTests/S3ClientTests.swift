import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import Synchronization
import Testing

@testable import ObjectStorage

/// Requests to a real server.
@Suite(
  "Requests to a store",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(2)))
struct S3ClientTests {
  private let server: ObjectServer
  private let place: String

  init() throws {
    server = try ObjectServer.shared.get()
    place = server.place()
  }

  private func client() throws -> S3Client { try server.client(place) }

  private static func put(
    _ text: String, as key: String, _ client: S3Client, isNew: Bool = true
  ) throws(FileError) -> Bool {
    let bytes = Array(text.utf8)
    return try client.put(.bytes(bytes), as: key, digest: SHA256.digest(of: bytes), isNew: isNew)
  }

  private static func text(of key: String, _ client: S3Client) throws(FileError) -> String {
    var bytes: [UInt8] = []
    try client.get(key) { piece throws(FileError) in bytes.append(contentsOf: piece) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func code(_ body: () throws(FileError) -> Void) -> FileError.Code? {
    do throws(FileError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }

  // MARK: Objects

  @Test("What is stored is read, whole and in part, and gone when removed")
  func objects() throws {
    let client = try client()
    #expect(try client.size(of: "a/b") == nil)
    #expect(Self.code { () throws(FileError) in _ = try Self.text(of: "a/b", client) } == .notFound)
    #expect(try Self.put("0123456789", as: "a/b", client))
    #expect(try client.size(of: "a/b") == 10)
    #expect(try Self.text(of: "a/b", client) == "0123456789")
    var part: [UInt8] = []
    try client.get("a/b", range: 3..<5) { piece throws(FileError) in part.append(contentsOf: piece)
    }
    #expect(part == Array("34".utf8))
    try client.remove("a/b")
    try client.remove("a/b")
    #expect(try client.size(of: "a/b") == nil)
  }

  @Test("Only a new object is stored if that is asked for")
  func conditional() throws {
    let client = try client()
    #expect(try Self.put("first", as: "k", client))
    #expect(try !Self.put("second", as: "k", client))
    #expect(try Self.text(of: "k", client) == "first")
    #expect(try Self.put("third", as: "k", client, isNew: false))
    #expect(try Self.text(of: "k", client) == "third")
  }

  @Test("The store refuses bytes that are not those of the digest")
  func digest() throws {
    let client = try client()
    let wrong = SHA256.digest(of: [1])
    #expect(
      Self.code { () throws(FileError) in
        _ = try client.put(.bytes([2]), as: "k", digest: wrong, isNew: true)
      } == .changed)
    #expect(try client.size(of: "k") == nil)
  }

  @Test("An object is copied inside the store")
  func copy() throws {
    let client = try client()
    _ = try Self.put("bytes", as: "a b/ü+", client)
    try client.copy("a b/ü+", to: "other")
    #expect(try Self.text(of: "other", client) == "bytes")
    #expect(
      Self.code { () throws(FileError) in try client.copy("nothing", to: "other") } == .notFound)
  }

  @Test("A listing has all pages, in order, and odd names")
  func listing() throws {
    let client = try client()
    let odd = ["x/a b", "x/ä+%&", "x/“quoted”", "x/<tag>"]
    for name in odd { _ = try Self.put("-", as: name, client) }
    let many = (0..<1100).map { "many/\(10_000 + $0)" }
    _ = many.map(width: 8) { key in (try? Self.put("--", as: key, client)) == true }
    var found: [S3Entry] = []
    try client.list("many/") { entry throws(FileError) in found.append(entry) }
    #expect(found == many.map { S3Entry(key: $0, size: 2) })
    var names: Set<String> = []
    try client.list("x/") { entry throws(FileError) in names.insert(entry.key) }
    #expect(names == Set(odd))
    #expect(try client.names(below: "") == ["many/", "x/"])
    #expect(try client.names(below: "x/").count == 4)
    #expect(try client.names(below: "nothing/").isEmpty)
  }

  // MARK: Large files

  private static func digest(of key: String, _ client: S3Client) throws -> Digest {
    let hash = SHA256()
    try client.get(key) { piece throws(FileError) in hash.update(piece) }
    return hash.finalize()
  }

  @Test("A large file goes in parts, and none stays of one that can't be completed")
  func parts() throws {
    let client = try client()
    let (file, size, digest, folder) = try LargeFile.make()
    defer { withExtendedLifetime(folder) {} }
    let wrong = SHA256.digest(of: [])
    #expect(
      Self.code { () throws(FileError) in
        _ = try client.put(file, size: size, as: "k", digest: wrong, isNew: true)
      } == .changed)
    #expect(try client.size(of: "k") == nil)
    #expect(try client.abandonUploads(below: "") == 0)
    #expect(try client.put(file, size: size, as: "k", digest: digest, isNew: true))
    #expect(try Self.digest(of: "k", client) == digest)
    #expect(try !client.put(file, size: size, as: "k", digest: digest, isNew: true))
  }

  @Test("An upload that its process left is ended")
  func abandoned() throws {
    let client = try client()
    let (file, size, digest, folder) = try LargeFile.make()
    defer { withExtendedLifetime(folder) {} }
    // What ends an upload is lost as well, as after a kill.
    let proxy = try FaultProxy(to: server.port) { request in
      request.target.contains("partNumber=3") || request.method == "DELETE" ? .lostRequest : .none
    }
    defer { proxy.end() }
    var once = S3Client.RetryPolicy()
    once.attempts = 1
    let cut = try server.client(place, through: proxy.endpoint, retrying: once)
    #expect(
      Self.code { () throws(FileError) in
        _ = try cut.put(file, size: size, as: "k", digest: digest, isNew: true)
      } == .unavailable)
    #expect(try client.size(of: "k") == nil)
    #expect(try client.abandonUploads(below: "other") == 0)
    #expect(try client.abandonUploads(below: "k") == 1)
    #expect(try client.abandonUploads(below: "") == 0)
  }

  @Test("All uploads of several pages are ended")
  func manyUploads() throws {
    let client = try client()
    // Some stores have at most 1,000 on a page; several uploads of an object may be on two.
    let begun = (0..<1100).map { "k\($0 / 7)" }.map(width: 8) { key in
      (try? client.document(
        "POST", key: key, query: ["uploads": ""], root: "InitiateMultipartUploadResult")) != nil
    }
    #expect(begun.allSatisfy { $0 })
    #expect(try client.abandonUploads(below: "") == 1100)
    #expect(try client.abandonUploads(below: "") == 0)
  }

  // MARK: Faults

  /// A client behind a proxy that spoils requests.
  private func faulty(
    attempts: Int = 6, isStopped: @escaping @Sendable () -> Bool = { false },
    _ decide: @escaping @Sendable (FaultProxy.Request) -> FaultProxy.Fault
  ) throws -> (S3Client, FaultProxy) {
    let proxy = try FaultProxy(to: server.port, decide)
    var policy = S3Client.RetryPolicy()
    policy.attempts = attempts
    policy.firstPause = .milliseconds(1)
    policy.longestPause = .milliseconds(20)
    return (
      try server.client(
        place, through: proxy.endpoint, retrying: policy, isStopped: isStopped), proxy
    )
  }

  @Test(
    "What fails now and then is done all the same",
    arguments: [
      FaultProxy.Fault.status(500), .status(503), .status(429), .lostRequest, .lostAnswer,
      .changedRequest,
    ])
  func sometimes(fault: FaultProxy.Fault) throws {
    let (client, proxy) = try faulty { $0.number % 3 == 1 ? fault : .none }
    defer { proxy.end() }
    for number in 0..<20 {
      // An object that was stored before its answer was lost is found there.
      _ = try Self.put("text \(number)", as: "k\(number)", client)
      #expect(try Self.text(of: "k\(number)", client) == "text \(number)")
    }
    #expect(try client.names(below: "").count == 20)
  }

  @Test("A body that is cut is read on from where it was")
  func cutBody() throws {
    let text = String((0..<5000).map { _ in "0123456789" }.joined())
    _ = try Self.put(text, as: "k", try self.client())
    let (client, proxy) = try faulty { $0.number < 4 ? .cutBody(after: 9000) : .none }
    defer { proxy.end() }
    #expect(try Self.text(of: "k", client) == text)
    #expect(proxy.requests == 4)
  }

  @Test("A store that always fails is asked a few times, and named")
  func always() throws {
    for (fault, word) in [
      (FaultProxy.Fault.status(503), "503"), (.lostRequest, "can't be reached"),
    ] {
      let (client, proxy) = try faulty { _ in fault }
      defer { proxy.end() }
      do throws(FileError) {
        _ = try client.size(of: "k")
        Issue.record("Nothing answers.")
      } catch {
        #expect(error.code == .unavailable)
        #expect(error.message.contains(word) && error.message.contains(proxy.endpoint))
      }
      #expect(proxy.requests == 6)
    }
  }

  @Test("A store that was given up a moment ago is asked once, until it answers")
  func givenUp() throws {
    let isAway = Atomic(true)
    let (client, proxy) = try faulty { _ in isAway.load(ordering: .relaxed) ? .status(503) : .none }
    defer { proxy.end() }
    for _ in 0..<3 { #expect(throws: FileError.self) { _ = try client.size(of: "k") } }
    #expect(proxy.requests == 6 + 1 + 1)
    isAway.store(false, ordering: .relaxed)
    #expect(try client.names(below: "").isEmpty)
    isAway.store(true, ordering: .relaxed)
    let before = proxy.requests
    #expect(throws: FileError.self) { _ = try client.size(of: "k") }
    #expect(proxy.requests == before + 6)
  }

  @Test("After a request was given up, a server that says nothing is not waited for as long")
  func saysNothing() throws {
    let answersLate = Atomic(false)
    let proxy = try FaultProxy(to: server.port) { _ in
      answersLate.load(ordering: .relaxed) ? .late(by: 2) : .status(503)
    }
    defer { proxy.end() }
    var policy = S3Client.RetryPolicy()
    policy.attempts = 1
    policy.memory = .seconds(3600)
    policy.answerAfterwards = .milliseconds(100)
    let client = try server.client(place, through: proxy.endpoint, retrying: policy)
    #expect(throws: FileError.self) { _ = try client.size(of: "k") }
    answersLate.store(true, ordering: .relaxed)
    #expect(Self.code { () throws(FileError) in _ = try client.size(of: "k") } == .unavailable)
  }

  @Test("Addresses that others write in another way are signed as they are sent")
  func oddAddress() throws {
    let client = try server.client(place, through: "http://127.0.0.1:0\(server.port)")
    #expect(try client.names(below: "").isEmpty)
  }

  @Test("What is wrong for good is not tried again", arguments: [403, 501])
  func forGood(status: Int) throws {
    let (client, proxy) = try faulty { _ in .status(status) }
    defer { proxy.end() }
    #expect(
      Self.code { () throws(FileError) in _ = try client.size(of: "k") } == .unavailable)
    #expect(proxy.requests == 1)
  }

  @Test("A wrong secret, a missing bucket and a missing server are told apart")
  func reasons() throws {
    func message(_ place: String, _ environment: [String: String]) throws -> String {
      do throws(FileError) {
        let location: BucketLocation
        do { location = try BucketLocation("s3://\(place)") } catch {
          throw FileError(.other, error.reason, path: nil)
        }
        var once = S3Client.RetryPolicy()
        once.attempts = 1
        let client = try S3Client(
          location, environment: environment, retrying: once, isStopped: { false })
        _ = try client.names(below: "")
        return ""
      } catch {
        #expect(error.code == .unavailable)
        return error.message
      }
    }
    let right = server.environment()
    let wrongSecret = right.merging(["AWS_SECRET_ACCESS_KEY": "wrong"]) { $1 }
    #expect(try message(place, wrongSecret).contains("secret key"))
    let wrongKey = right.merging(["AWS_ACCESS_KEY_ID": "wrong"]) { $1 }
    #expect(try message(place, wrongKey).contains("does not know the access key"))
    #expect(try message("there-is-no-such-bucket", right).contains("There is no bucket"))
    let nowhere = right.merging(["AWS_ENDPOINT_URL": "http://127.0.0.1:1"]) { $1 }
    #expect(try message(place, nowhere).contains("can't be reached"))
    let noServer = right.merging(["AWS_ENDPOINT_URL": "ftp://host/path"]) { $1 }
    #expect(try message(place, noServer).contains("endpoint"))
  }

  @Test("A request that nobody answers ends when the program is asked to stop")
  func stopped() throws {
    let isStopped = Atomic(false)
    let (client, proxy) = try faulty(isStopped: { isStopped.load(ordering: .relaxed) }) { _ in
      isStopped.store(true, ordering: .relaxed)
      return .stall
    }
    defer { proxy.end() }
    #expect(Self.code { () throws(FileError) in _ = try client.size(of: "k") } == .stopped)
  }
}
