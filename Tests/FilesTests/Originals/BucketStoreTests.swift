import Files
import Fixtures
import Glibc
import Hashing
import ObjectStorage
import Originals
import PipelineModel
import Synchronization
import Testing

@Suite(
  "Originals in a bucket",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(2)))
struct BucketStoreTests {
  private let server: ObjectServer

  init() throws { server = try ObjectServer.shared.get() }

  private func file(_ text: String, in harness: BucketHarness) throws -> IncomingOriginal {
    let bytes = Array(text.utf8)
    let name = BytePath(SHA256.digest(of: bytes).hex)
    try harness.incoming.writeDurably(bytes, as: name, mode: 0o444)
    return IncomingOriginal(
      folder: harness.incoming, name: name, digest: SHA256.digest(of: bytes))
  }

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return "\(error)"
    }
  }

  // MARK: Whose bucket it is

  @Test("A bucket belongs to one library")
  func owner() throws {
    let harness = try BucketHarness()
    _ = try harness.store.put(try file("first", in: harness))
    let other = try harness.open(identity: "another")
    let second = try file("second", in: harness)
    guard case .failed(let error) = try other.put([second])[0] else {
      Issue.record("Two libraries share a bucket.")
      return
    }
    #expect(error.code == .unavailable && error.message.contains("another library (tests)"))
    #expect(message { try other.remove(SHA256.digest(of: Array("first".utf8))) } != "")
    #expect(try harness.store.size(of: SHA256.digest(of: Array("first".utf8))) == 5)
  }

  @Test("A bucket with something else in it is refused")
  func stranger() throws {
    let harness = try BucketHarness()
    _ = try server.client(harness.place).put(
      .bytes([1]), as: "holiday.jpg", digest: SHA256.digest(of: [1]), isNew: true)
    #expect(message { try harness.store.check() }.contains("holiday.jpg"))
  }

  @Test("A bucket that another process of the library claims at the same time is the library's")
  func claimedTwice() throws {
    let direct = server
    let claimed = Mutex<String?>(nil)
    let proxy = try FaultProxy(to: server.port) { request in
      // Whether it is anybody's was just asked.
      if request.target.contains("list-type"), let place = claimed.withLock({ $0 }) {
        let marker = Array("{\"library\": \"tests\"}".utf8)
        _ = try? direct.client(place).put(
          .bytes(marker), as: "library.json", digest: SHA256.digest(of: marker), isNew: true)
      }
      return .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    claimed.withLock { $0 = harness.place }
    #expect(try harness.store.put([try file("first", in: harness)]) == [.stored])
    #expect(message { try harness.open(identity: "another").check() }.contains("another library"))
  }

  @Test("Whole bytes that others put into the place of damaged ones that are set aside stay there")
  func healedMeanwhile() throws {
    let place = Mutex<String?>(nil)
    let bytes = Array("whole".utf8)
    let digest = SHA256.digest(of: bytes)
    let direct = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      if request.method == "PUT", request.target.contains("/damaged/"),
        let place = place.withLock({ $0 })
      {
        let healed: Void? = try? BucketHarness.put(bytes, digest, in: place, of: direct)
        if healed == nil { return .status(500) }
      }
      return .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    _ = try harness.store.put(try file("whole", in: harness))
    try harness.overwrite(digest, with: Array("other".utf8))
    place.withLock { $0 = harness.place }
    #expect(try !harness.store.setAside(digest))
    #expect(try harness.store.verify(digest) == .whole(size: bytes.count))
    // Also if they were there before.
    #expect(try !harness.store.setAside(digest))
    #expect(try harness.store.verify(digest) == .whole(size: bytes.count))
  }

  @Test("A server that compares no hashes is refused")
  func noHashes() throws {
    let proxy = try FaultProxy(to: server.port) { request in
      request.method == "PUT" && request.target.contains("probe-")
        ? .answer(.init(200, ["ETag": "\"any\""])) : .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    #expect(message { try harness.store.check() }.contains("x-amz-content-sha256"))
  }

  @Test("A server that ignores conditions is refused")
  func noConditions() throws {
    // Of what a store is tried with, the third is to be stored only if it is new.
    let puts = Mutex(0)
    let proxy = try FaultProxy(to: server.port) { request in
      guard request.method == "PUT", request.target.contains("probe-") else { return .none }
      let number = puts.withLock { puts in
        puts += 1
        return puts
      }
      return number == 3 ? .answer(.init(200, ["ETag": "\"any\""])) : .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    #expect(message { try harness.store.check() }.contains("ignores “If-None-Match: *”"))
    #expect(try server.client(harness.place).names(below: "").isEmpty)
  }

  @Test("An answer that is not the store's acknowledges nothing")
  func loginPage() throws {
    let proxy = try FaultProxy(to: server.port) { request in
      request.method == "PUT" && request.target.contains("originals/")
        ? .answer(.init(200, body: "<html>Please log in.</html>")) : .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    guard case .failed(let error) = try harness.store.put([file("kept", in: harness)])[0] else {
      Issue.record("A page was taken for an acknowledgement.")
      return
    }
    #expect(error.code == .unavailable && error.message.contains("did not acknowledge"))
  }

  // MARK: Faults

  @Test("A stored file has no copy before it is asked for, and then one without another download")
  func keptCopies() throws {
    let proxy = try FaultProxy(to: server.port) { _ in .none }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    let file = try file("kept", in: harness)
    #expect(try harness.store.put(file))
    let links = { try file.folder.status(of: file.name).links }
    #expect(try links() == 1)
    harness.store.keepCopies(of: [file])
    #expect(try links() == 2)
    // Asked for again, or after somebody has put other bytes there, it replaces nothing.
    harness.store.keepCopies(of: [file])
    let requests = proxy.requests
    let copy = try harness.store.lease(file.digest)
    #expect(try copy.open().readToEnd() == Array("kept".utf8))
    #expect(proxy.requests == requests)
  }

  @Test(
    "A cache that somebody removes or moves away is made again; without a library, the store waits")
  func lostCache() throws {
    let harness = try BucketHarness()
    let file = try file("kept", in: harness)
    _ = try harness.store.put(file)
    let library = try Descriptor.openFolder(harness.temporary.path)
    func read() throws -> [UInt8] {
      let copy = try harness.store.lease(file.digest)
      return try Descriptor.open(copy.path, flags: O_RDONLY).readToEnd()
    }
    #expect(try read() == Array("kept".utf8))
    try library.rename("cache", to: library, as: "elsewhere")
    #expect(try read() == Array("kept".utf8))
    try library.removeTree(FolderEntry(name: "cache", kind: nil))
    #expect(try read() == Array("kept".utf8))
    let parent = try Descriptor.openFolder(harness.temporary.path.parent)
    try parent.removeTree(FolderEntry(name: harness.temporary.path.lastComponent, kind: nil))
    let error = #expect(throws: FileError.self) { try harness.store.lease(file.digest) }
    #expect(error?.code == .unavailable)
  }

  @Test("A file whose upload was not acknowledged is found there")
  func lostAnswer() throws {
    let proxy = try FaultProxy(to: server.port) { request in
      request.method == "PUT" && request.target.contains("originals/") && request.number % 2 == 0
        ? .lostAnswer : .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    for number in 0..<8 {
      let file = try file("text \(number)", in: harness)
      #expect(try [[.stored], [.present]].contains(harness.store.put([file])))
      #expect(try harness.store.verify(file.digest) == .whole(size: 6))
    }
  }

  @Test("Bytes that changed on the way back reach nobody")
  func changedAnswer() throws {
    let proxy = try FaultProxy(to: server.port) { request in
      request.method == "GET" && request.target.contains("originals/") ? .changedAnswer : .none
    }
    defer { proxy.end() }
    // Without a cache, the bytes come from the bucket.
    let harness = try BucketHarness(through: proxy.endpoint, cacheBudget: 0)
    let file = try file("to be changed", in: harness)
    _ = try harness.store.put([file])
    #expect(message { _ = try harness.store.lease(file.digest) }.contains("is damaged"))
    #expect(message { _ = try harness.store.open(file.digest) }.contains("is damaged"))
    guard case .damaged = try harness.store.verify(file.digest) else {
      Issue.record("Damage was not seen.")
      return
    }
  }

  @Test("Bytes that changed on one of two ways back are no damage")
  func changedOnce() throws {
    let proxy = try FaultProxy(to: server.port) { request in
      request.method == "GET" && request.target.contains("originals/") && request.number == 7
        ? .changedAnswer : .none
    }
    defer { proxy.end() }
    let harness = try BucketHarness(through: proxy.endpoint)
    let file = try file("to be read twice", in: harness)
    _ = try harness.store.put([file])
    for _ in 0..<8 { #expect(try harness.store.verify(file.digest) == .whole(size: 16)) }
  }

  @Test("While the store is away, nothing is damaged or missing, and nobody waits for each file")
  func away() throws {
    let harness = try BucketHarness()
    let stored = try file("stored before", in: harness)
    _ = try harness.store.put([stored])
    let away = try harness.open(through: "http://127.0.0.1:1")
    let files = try (0..<40).map { try file("waiting \($0)", in: harness) }
    let start = ContinuousClock().now
    for outcome in try away.put(files) {
      guard case .failed(let error) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(error.code == .unavailable)
    }
    // One file alone is tried for some three seconds.
    #expect(ContinuousClock().now - start < .seconds(40))
    for file in files { #expect(try harness.incoming.statusIfThere(of: file.name) != nil) }
    #expect(message { _ = try away.verify(stored.digest) }.contains("can't be reached"))
    #expect(message { _ = try away.size(of: stored.digest) }.contains("can't be reached"))
    #expect(
      message { try away.forEach { _ throws(FileError) in } }.contains("can't be reached"))
  }

  @Test("In a library that can't be written, originals are read all the same")
  func readOnly() throws {
    let harness = try BucketHarness()
    let file = try file("to be read", in: harness)
    _ = try harness.store.put([file])
    let library = try TemporaryFolder()
    try #require(chmod("\(library.path)", 0o555) == 0)
    let text = try Unprivileged.run {
      try harness.open(in: library.path).open(file.digest).readToEnd()
    }
    #expect(text == Array("to be read".utf8))
  }
}
