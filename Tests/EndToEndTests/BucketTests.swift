import Dispatch
import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import Originals
import PipelineModel
import Synchronization
import Testing

/// A library whose originals are in a bucket of a real S3 server.
@Suite(
  "Originals in a bucket, end to end",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(10)))
struct BucketTests {
  private func put(_ count: Int, in workspace: Workspace, from first: Int = 0) throws {
    for number in first..<first + count {
      try workspace.put(
        try Pictures.jpeg(width: 80 + number, height: 60), as: BytePath("\(number).jpg"))
    }
  }

  @Test("Files are taken, shown, returned and deleted as with a folder")
  func whole() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(6, in: workspace)
    #expect(try workspace.json("run").summary["imported"] == 6)
    try workspace.expectSound()
    let status = try #require(try workspace.json("status").first)
    #expect(status["bucket"]?.string == workspace.bucket?.location)
    // Read anew, without the local copies.
    let id = BytePath(try #require(try workspace.asset(named: "2.jpg")["id"]?.string))
    try Descriptor.openFolder(workspace.library).removeTree(
      .init(name: "cache", kind: .folder))
    let bytes = try Pictures.jpeg(width: 82, height: 60)
    let got = try workspace.run("get", id, "-o", "got.jpg")
    #expect(got.exitCode == 0, "\(got.errors)")
    #expect(try workspace.read("got.jpg") == bytes)
    // The same bytes again.
    try workspace.put(bytes, as: "again.jpg")
    #expect(try workspace.json("run").summary["duplicates"] == 1)
    try workspace.json("rm", id)
    try workspace.json("trash", "empty", "--yes")
    try workspace.json("gc")
    #expect(try workspace.files(below: "library/originals").count == 5)
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(try workspace.assets().count == 5)
  }

  @Test("A run's files go back to where they came from")
  func undo() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(3, in: workspace)
    try workspace.json("run")
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.json("undo", "--yes")
    #expect(try workspace.files(below: "inbox") == ["0.jpg", "1.jpg", "2.jpg"])
    try workspace.json("gc")
    #expect(try workspace.files(below: "library/originals") == [])
    try workspace.expectSound()
  }

  /// Has the first of several wait for the second.
  private final class Meeting: Sendable {
    private let arrived = Mutex<[String]>([])
    private let isMet = DispatchSemaphore(value: 0)
    private let hasMet = Atomic(false)

    func arrive(_ name: String) {
      let number = arrived.withLock { names in
        names.append(name)
        return names.count
      }
      if number == 1 {
        hasMet.store(isMet.wait(timeout: .now() + 60) == .success, ordering: .relaxed)
      } else if number == 2 {
        isMet.signal()
      }
    }

    /// Who came, and whether two were there at the same time.
    var result: (names: [String], hasMet: Bool) {
      (arrived.withLock { $0 }, hasMet.load(ordering: .relaxed))
    }
  }

  @Test(
    "Originals are read several at once, each by one request, and an export makes no local copies")
  func reading() throws {
    let server = try ObjectServer.shared.get()
    let current = Mutex<Meeting?>(nil)
    let proxy = try FaultProxy(to: server.port) { request in
      if request.method == "GET", request.target.contains("originals/") {
        current.withLock { $0 }?.arrive(request.target)
      }
      return .none
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    try put(5, in: workspace)
    try workspace.json("run")
    let cache: BytePath = "library/cache"
    try Descriptor.openFolder(workspace.library).removeTree(.init(name: "cache", kind: .folder))
    func expectMeeting(_ words: [BytePath]) throws {
      let meeting = Meeting()
      current.withLock { $0 = meeting }
      let run = try workspace.program.run(words, within: 120)
      #expect(run.exitCode == 0, "\(run.errors)")
      let (names, hasMet) = meeting.result
      #expect(hasMet && names.count == 5 && Set(names).count == 5, "\(words): \(names)")
    }
    try expectMeeting(["verify"])
    try expectMeeting(["export", "--to", "out"])
    #expect(try workspace.files(below: "out").count { $0.description.hasSuffix(".jpg") } == 5)
    #expect(try workspace.files(below: cache) == [])
    current.withLock { $0 = nil }
    // From a local copy, without the server.
    let id = BytePath(try #require(try workspace.asset(named: "2.jpg")["id"]?.string))
    #expect(try workspace.run("get", id, "-o", "got.jpg").exitCode == 0)
    let before = proxy.requests
    #expect(try workspace.run("export", "--to", "one", "name:2.jpg").exitCode == 0)
    #expect(proxy.requests == before)
    #expect(try workspace.read("one/2.jpg") == Pictures.jpeg(width: 82, height: 60))
    // One that somebody altered is not used.
    let copy = try #require(try workspace.files(below: cache).first)
    try workspace.write(Array(repeating: 7, count: 100_000), to: cache.appending(copy))
    #expect(try workspace.run("export", "--to", "two", "name:2.jpg").exitCode == 0)
    #expect(proxy.requests > before)
    #expect(try workspace.read("two/2.jpg") == Pictures.jpeg(width: 82, height: 60))
    // Back into the library, all at once.
    current.withLock { $0 = Meeting() }
    try Descriptor.openFolder(workspace.library).removeTree(.init(name: "cache", kind: .folder))
    try workspace.json("move-originals", "library")
    #expect(current.withLock { $0?.result.hasMet } == true)
  }

  @Test("Damage and loss in the bucket are named, and good bytes heal both")
  func damage() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(3, in: workspace)
    try workspace.json("run")
    let paths = try workspace.files(below: "library/originals")
    let originals = BytePath("library/originals")
    let first = try workspace.read(originals.appending(paths[0]))
    let second = try workspace.read(originals.appending(paths[1]))
    try workspace.write(Array("damage".utf8), to: originals.appending(paths[0]))
    try workspace.bucket?.remove("originals/\(paths[1])")
    let problems = try workspace.json("verify", exit: 3).of("problem")
    #expect(Set(problems.map { $0["kind"] }) == ["original-damaged", "original-missing"])
    #expect(problems.allSatisfy { $0["path"]?.string?.hasPrefix("s3://tests/") == true })
    // A local copy would heal them.
    try Descriptor.openFolder(workspace.library).removeTree(.init(name: "cache", kind: .folder))
    try workspace.json("verify", "--repair", exit: 3)
    for (number, bytes) in [first, second].enumerated() {
      try workspace.put(bytes, as: BytePath("copy\(number).jpg"))
    }
    #expect(workspace.exists("library/damage.json"))
    #expect(try workspace.json("run").summary["duplicates"] == 2)
    #expect(!workspace.exists("library/damage.json"))
    try workspace.expectSound()
  }

  @Test("Damage in the bucket is healed by a whole local copy")
  func healedFromCache() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(2, in: workspace)
    try workspace.json("run")
    let path = try workspace.files(below: "library/originals")[0]
    let original = BytePath("library/originals").appending(path)
    let bytes = try workspace.read(original)
    try workspace.write(Array("damage".utf8), to: original)
    func repair() throws {
      let told = try workspace.json("verify", "--repair").of("repair")
      #expect(told.map { $0["action"] } == ["restored"])
      #expect(told.first?["path"]?.string?.hasPrefix("s3://tests/") == true)
      #expect(try workspace.read(original) == bytes)
    }
    try repair()
    try workspace.bucket?.remove("originals/\(path)")
    try repair()
    try workspace.expectSound()
  }

  @Test("A bucket that was emptied is not taken for one without originals")
  func emptied() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(2, in: workspace)
    try workspace.json("run")
    let bucket = try #require(workspace.bucket)
    try bucket.removeMarker()
    for file in try bucket.files(below: "originals") { try bucket.remove("originals/\(file)") }
    try put(1, in: workspace, from: 5)
    #expect(try workspace.json("run", exit: 1).of("error").first?["code"] == "store")
    #expect(try workspace.files(below: "inbox") == ["5.jpg"])
    #expect(try bucket.files(below: "originals").isEmpty)
  }

  @Test("An emptied bucket, or something else that answers, damages nothing and fails no job")
  func notTheStore() throws {
    let server = try ObjectServer.shared.get()
    let isLoginPage = Atomic(false)
    let proxy = try FaultProxy(to: server.port) { request in
      isLoginPage.load(ordering: .relaxed)
        ? .answer(.init(200, body: "<html>Log in</html>")) : .none
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    let bucket = try #require(workspace.bucket)
    try put(3, in: workspace)
    try workspace.json("run")
    // Jobs that are due.
    try workspace.configure(stages: [
      ["name": "identify", "plugin": "identify"], ["name": "metadata", "plugin": "metadata"],
    ])
    func expectNothingNoted() throws {
      try Descriptor.openFolder(workspace.library).removeTree(.init(name: "cache", kind: .folder))
      for words in [["verify"], ["verify", "--time-limit", "1m"], ["export", "--to", "out"]] {
        let run = try workspace.program.run(words.map { BytePath($0) }, within: 60)
        #expect(run.exitCode != 0, "\(words)")
        #expect(
          !run.errors.contains("is missing;") && !run.errors.contains("damaged"), "\(run.errors)")
      }
      #expect(!workspace.exists("library/damage.json"))
      let run = try workspace.run("run")
      #expect(run.exitCode != 0, "\(run.errors)")
      // The jobs wait for the store.
      for failure in try workspace.json("failed").of("failure") {
        #expect(failure["class"] == "environment" && failure["attempts"] == 0)
      }
    }
    isLoginPage.store(true, ordering: .relaxed)
    try expectNothingNoted()
    isLoginPage.store(false, ordering: .relaxed)
    for path in try bucket.files(below: "originals") { try bucket.remove("originals/\(path)") }
    try bucket.removeMarker()
    try expectNothingNoted()
  }

  @Test("Where a listing fails, gc and verify say so, and remove and note nothing")
  func failingListing() throws {
    let fault = Mutex((of: "list-type", fault: FaultProxy.Fault.none))
    let proxy = try FaultProxy(to: try ObjectServer.shared.get().port) { request in
      fault.withLock { spoiled in
        request.target.contains("list-type") && request.target.contains(spoiled.of)
          ? spoiled.fault : .none
      }
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    let bucket = try #require(workspace.bucket)
    try put(3, in: workspace)
    try workspace.json("run")
    // Something that gc would remove.
    try workspace.json("rm", BytePath(try #require(try workspace.assets().first?["id"]?.string)))
    try workspace.json("trash", "empty", "--yes")
    let before = try bucket.objects()
    for spoiled in [FaultProxy.Fault.status(503), .answer(.init(200, body: ""))] {
      fault.withLock { $0 = ("list-type", spoiled) }
      let gc = try workspace.program.run(["gc"], within: 120)
      #expect(gc.exitCode == 0 && gc.errors.contains("Originals are kept"), "\(gc.errors)")
      // The first listing is that of the manifest's copy; then that of originals alone.
      for part in ["list-type", "originals"] {
        fault.withLock { $0.of = part }
        let verify = try workspace.program.run(["verify"], within: 120)
        #expect(
          verify.exitCode == 1 && verify.errors.contains("The store"), "\(part): \(verify.errors)")
      }
      #expect(!workspace.exists("library/damage.json"))
      #expect(try bucket.objects() == before)
    }
    fault.withLock { $0.fault = .none }
    try workspace.json("gc")
    #expect(try bucket.files(below: "originals").count == 2)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A bucket that is mistyped or in use makes no library, and can be corrected")
  func mistyped() throws {
    let workspace = try Workspace(bucket: TestBucket())
    let bucket = try #require(workspace.bucket)
    func name(_ originals: String) throws {
      try workspace.configure(["originals": .string(originals)])
    }
    try put(1, in: workspace)
    try bucket.write([1], to: "used/file")
    for wrong in [bucket.location.replacing("s3://", with: "s3://no-"), "\(bucket.location)/used"] {
      try name(wrong)
      for verb: BytePath in ["run", "watch"] {
        let refused = try workspace.program.run([verb, "--json"], within: 60)
        #expect(try refused.events().of("error").first?["code"] == "store", "\(refused)")
      }
      #expect(!workspace.exists("library"))
    }
    let used = try workspace.run("doctor").output
    #expect(used.contains("FAILED   originals") && used.contains("holds “file”"), "\(used)")
    try bucket.remove("used/file")
    try name(bucket.location)
    #expect(try workspace.json("run").summary["imported"] == 1)
    try workspace.expectSound()
    // Once there are some, it is not changed by accident.
    try name("\(bucket.location)-other")
    let refused = try workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("move-originals"), "\(refused)")
    let findings = try workspace.run("doctor").output
    #expect(findings.contains("FAILED   library"), "\(findings)")
  }

  @Test("No library is made while the store is away; the first run with it makes one")
  func awayAtFirst() throws {
    let bucket = try TestBucket(through: "http://127.0.0.1:\(try PostgreSQLServer.freePort())")
    let workspace = try Workspace(bucket: bucket)
    try put(1, in: workspace)
    let refused = try workspace.program.run(["run", "--json"], within: 120)
    #expect(try refused.events().of("error").first?["code"] == "store", "\(refused)")
    #expect(!workspace.exists("library"))
    workspace.program.environment.merge(try ObjectServer.shared.get().environment()) { $1 }
    #expect(try workspace.json("run").summary["imported"] == 1)
    try workspace.expectSound()
  }

  @Test(
    "Two first runs at once make one library, which has everything",
    .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
  func firstRuns() throws {
    let shared = try SharedWorkspace(stages: Workspace.stages(), bucket: TestBucket())
    let workspace = shared.workspace
    try put(6, in: workspace)
    let runs = try (0..<2).map { _ in
      try workspace.program.start(["run", "--json", "--wait", "60s"])
    }
    let outcomes = try runs.map { try $0.wait(within: 120) }
    #expect(outcomes.map(\.exitCode) == [0, 0], "\(outcomes)")
    #expect(try workspace.assets().count == 6)
    try workspace.expectSoundLibrary()
  }

  @Test("No library is made where the bucket has another one's originals")
  func taken() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(1, in: workspace)
    try workspace.json("run")
    let root = try Descriptor.openFolder(workspace.root)
    try root.rename("library", to: root, as: "elsewhere")
    try put(1, in: workspace, from: 1)
    let refused = try workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("restore-library"), "\(refused)")
    #expect(!workspace.exists("library"))
    #expect(try workspace.run("doctor").output.contains("has the originals of the library"))
    try root.rename("elsewhere", to: root, as: "library")
    #expect(try workspace.json("run").summary["imported"] == 1)
  }

  @Test("A library that was restored without a folder of originals, which a bucket has, gets one")
  func restoredWithoutFolder() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(1, in: workspace)
    try workspace.json("run")
    try Descriptor.openFolder(workspace.library).removeFolder("originals")
    try put(1, in: workspace, from: 2)
    #expect(try workspace.json("run").summary["imported"] == 1)
    try workspace.expectSound()
  }

  @Test("A bucket without the library's name on it is not taken for its own")
  func unnamed() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(2, in: workspace)
    try workspace.json("run")
    let bucket = try #require(workspace.bucket)
    let marker = try bucket.readMarker()
    try bucket.removeMarker()
    let verified = try workspace.run("verify", "--json")
    #expect(verified.exitCode == 1 && verified.output.contains("has no library.json"))
    try put(1, in: workspace, from: 5)
    #expect(try workspace.json("run", exit: 1).of("error").first?["code"] == "store")
    #expect(try workspace.files(below: "inbox") == ["5.jpg"])
    try bucket.writeMarker(marker)
    #expect(try workspace.json("run").summary["imported"] == 1)
    try workspace.expectSound()
  }

  @Test("Without room for local copies, stages, pictures on demand and downloads work all the same")
  func noCache() throws {
    let workspace = try Workspace(["originalsCache": "0B"], bucket: TestBucket())
    try put(2, in: workspace)
    try workspace.json("run")
    try workspace.expectSound()
    let id = BytePath(try #require(try workspace.asset(named: "1.jpg")["id"]?.string))
    let picture = try workspace.run("get", id, "--max-pixel-size", "40", "-o", "small.jpg")
    #expect(picture.exitCode == 0, "\(picture.errors)")
    let served = try ServedLibrary(workspace)
    #expect(try served.get("/o/\(id)").body == Pictures.jpeg(width: 81, height: 60))
    try served.stop()
  }

  // MARK: A store that is away

  @Test("While the store is away, files stay in their sources, and a later run takes them")
  func away() throws {
    let isAway = Atomic(true)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { _ in
      isAway.load(ordering: .relaxed) ? .lostRequest : .none
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    try put(4, in: workspace)
    let events = try workspace.json("run", exit: 1)
    let error = try #require(events.of("error").first)
    #expect(error["code"] == "store")
    #expect(error["message"]?.string?.contains("can't be reached") == true)
    #expect(try workspace.files(below: "inbox").count == 4)
    #expect(try workspace.files(below: "library/incoming") == [])
    isAway.store(false, ordering: .relaxed)
    #expect(try workspace.json("run").summary["imported"] == 4)
    try workspace.expectSound()
  }

  @Test("What was not yet copied when a run was killed is taken again without listing the bucket")
  func noListing() throws {
    let isHanging = Atomic(true)
    let isAsked = Atomic(false)
    let listings = Atomic(0)
    let proxy = try FaultProxy(to: try ObjectServer.shared.get().port) { request in
      guard request.target.contains("originals") else { return .none }
      if request.target.contains("list-type") { listings.add(1, ordering: .relaxed) }
      guard request.method == "PUT", isHanging.load(ordering: .relaxed) else { return .none }
      isAsked.store(true, ordering: .relaxed)
      // The store gets nothing.
      var answer = FaultProxy.Answer(200)
      answer.spaces = 60
      return .answer(answer)
    }
    defer { proxy.end() }
    let workspace = try Workspace(
      sources: [["path": "inbox", "mode": "copy", "settle": "0ms"]],
      bucket: TestBucket(through: proxy.endpoint))
    try put(2, in: workspace)
    let run = try workspace.program.start(["run"])
    try run.wait(for: "an upload") { isAsked.load(ordering: .relaxed) }
    run.signal(SIGKILL)
    _ = try run.wait(within: 30)
    isHanging.store(false, ordering: .relaxed)
    // As if it had been killed sooner.
    for name in try workspace.files(below: "library/incoming") {
      try workspace.remove(BytePath("library/incoming").appending(name))
    }
    let before = listings.load(ordering: .relaxed)
    #expect(try workspace.json("run").summary["imported"] == 2)
    #expect(listings.load(ordering: .relaxed) == before)
    try workspace.expectSound()
  }

  @Test("A file that goes back to its source after a kill shares nothing with the local copies")
  func putBack() throws {
    let server = try ObjectServer.shared.get()
    let last = SHA256.digest(of: Array("text 3".utf8)).hex
    let isHanging = Atomic(true)
    let isAsked = Atomic(false)
    let proxy = try FaultProxy(to: server.port) { request in
      guard request.method == "PUT", request.target.contains(last),
        isHanging.load(ordering: .relaxed)
      else { return .none }
      isAsked.store(true, ordering: .relaxed)
      return .stall
    }
    defer { proxy.end() }
    let bucket = try TestBucket(through: proxy.endpoint)
    let workspace = try Workspace(bucket: bucket)
    try workspace.put("text 1", as: "x.txt")
    try workspace.json("run")
    // The duplicate goes back first, and the next with its size, too, though the store has got it.
    for (name, text) in [("a.txt", "text 1"), ("b.txt", "text 2"), ("c.txt", "text 3")] {
      try workspace.put(text, as: BytePath(name))
    }
    let stored = SHA256.digest(of: Array("text 2".utf8))
    let run = try workspace.program.start(["run"])
    try run.wait(for: "the upload of two files") {
      isAsked.load(ordering: .relaxed)
        && bucket.exists("originals/\(OriginalLayout.path(of: stored))")
    }
    run.signal(SIGKILL)
    _ = try run.wait(within: 30)
    isHanging.store(false, ordering: .relaxed)
    #expect(try workspace.run("gc").exitCode == 0)
    #expect(try workspace.files(below: "inbox") == ["a.txt", "b.txt", "c.txt"])
    let status = try FileSystem.status(of: workspace.inbox.appending("b.txt"))
    #expect(status.links == 1)
    #expect(try workspace.json("run").summary["imported"] == 2)
    #expect(try workspace.json("list").of("asset").count == 3)
    try workspace.expectSound()
  }

  @Test("A watch goes on by itself when the store is back")
  func watch() throws {
    let isAway = Atomic(false)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { _ in
      isAway.load(ordering: .relaxed) ? .status(503) : .none
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    try workspace.json("run")
    isAway.store(true, ordering: .relaxed)
    try put(2, in: workspace)
    let run = try workspace.program.start(["watch", "--json"])
    try run.wait(for: "the pause", within: 60) {
      try run.eventsSoFar().states.contains("storeAway")
    }
    isAway.store(false, ordering: .relaxed)
    try run.wait(for: "the import", within: 60) {
      try run.eventsSoFar().filter { $0["outcome"] == "imported" }.count == 2
    }
    #expect(try run.eventsSoFar().states.contains("storeBack"))
    run.signal(SIGTERM)
    #expect(try run.wait(within: 30).exitCode == 143)
    try workspace.expectSound()
  }

  @Test("A watch goes on where the store went away before a recorded file was removed")
  func watchBeforeRemoval() throws {
    // From the first look at a stored original, which is that before its source is removed.
    let isAway = Atomic(false)
    let isBack = Atomic(false)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      if request.method == "GET", request.target.contains("/originals/") {
        isAway.store(true, ordering: .relaxed)
      }
      let isRefused =
        isAway.load(ordering: .relaxed) && !isBack.load(ordering: .relaxed)
      return isRefused ? .status(503) : .none
    }
    defer { proxy.end() }
    let workspace = try Workspace(bucket: TestBucket(through: proxy.endpoint))
    try workspace.configure(
      sources: [
        [
          "path": "inbox", "mode": "move", "settle": "0ms", "take": "copy", "duplicates": "asset",
        ]
      ], stages: [], ["rescan": "1s"])
    try put(1, in: workspace)
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try workspace.json("run", exit: 1).of("error").first?["code"] == "store")
    // New ones, of which none is taken before the removal.
    for name in ["-.txt", "z.txt"] { try workspace.put(name, as: BytePath(name)) }
    let run = try workspace.program.start(["watch", "--json"])
    try run.wait(for: "the pause", within: 60) {
      try run.eventsSoFar().states.contains("storeAway")
    }
    #expect(try workspace.files(below: "inbox").count == 3)
    isBack.store(true, ordering: .relaxed)
    try run.wait(for: "the removals", within: 60) {
      try workspace.files(below: "inbox").isEmpty
    }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 30).exitCode == 143)
    #expect(try workspace.assets().count == 3)
    try workspace.expectSound()
  }

  // MARK: Kills

  @Test(
    "A kill at any request to the store loses nothing and doubles nothing",
    arguments: [false, true])
  func kills(afterRequest: Bool) throws {
    let server = try ObjectServer.shared.get()
    let target = Mutex<(process: Int32, at: Int, seen: Int)>((0, 0, 0))
    let proxy = try FaultProxy(to: server.port) { _ in
      let process = target.withLock { target -> Int32? in
        target.seen += 1
        return target.seen == target.at ? target.process : nil
      }
      guard let process else { return .none }
      if !afterRequest { kill(process, SIGKILL) }
      return afterRequest ? .lostAnswer : .lostRequest
    }
    defer { proxy.end() }
    let workspace = try Workspace(
      stages: Workspace.stages(isolation: "none"), bucket: TestBucket(through: proxy.endpoint))
    var number = 0
    var kills = 0
    repeat {
      number += 1
      try put(Self.killed, in: workspace, from: Self.killed * number)
      let run = try workspace.program.start(["run", "--json"])
      target.withLock { $0 = (run.process, number, 0) }
      if afterRequest {
        // The request was done by the store, and its answer is lost with the program.
        try run.wait(for: "the request, or the end", within: 60) {
          !run.isRunning || target.withLock { $0.seen >= $0.at }
        }
        run.signal(SIGKILL)
      }
      let outcome = try run.wait(within: 60)
      if outcome.signal == SIGKILL { kills += 1 }
      // The run that puts things in order is killed as well, at another of its requests each time.
      let second = try workspace.program.start(["run", "--json"])
      target.withLock { $0 = (second.process, number + 2, 0) }
      if afterRequest {
        try second.wait(for: "the request, or the end", within: 60) {
          !second.isRunning || target.withLock { $0.seen >= $0.at }
        }
        second.signal(SIGKILL)
      }
      _ = try second.wait(within: 60)
      target.withLock { $0 = (0, .max, 0) }
      let next = try workspace.run("run")
      #expect(next.exitCode == 0, "after request \(number): \(next.errors)")
      try workspace.expectSound("killed at request \(number)")
      let assets = try workspace.assets()
      #expect(assets.count == Self.killed * number)
      // None goes by its digest, as one would whose name was lost.
      #expect(assets.allSatisfy { $0["name"]?.string?.hasSuffix(".jpg") == true })
    } while number <= Self.killed + 8
    // Before the first import it is asked whose bucket it is, which copies of the manifest there are, and what the last
    // one has. Then each file is one request, after one that reads whose bucket it is; the new copy of the manifest has
    // four: these three, and itself.
    #expect(kills == Self.killed + 8)
  }

  /// How many files a run takes that is killed.
  private static let killed = 4

  // MARK: Moving

  @Test("Originals move to a bucket and back, with the same records")
  func move() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(5, in: workspace)
    try workspace.json("run")
    let before = try workspace.assets()
    let paths = try workspace.files(below: "library/originals")
    // Found damaged, and put back since.
    let original = BytePath("library/originals").appending(paths[0])
    let bytes = try workspace.read(original)
    try workspace.damage(original, Array("damage".utf8))
    try workspace.json("verify", exit: 3)
    try workspace.write(bytes, to: original)
    try workspace.configure(["originals": .string(bucket.location)])
    let refused = try workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("move-originals"))
    let moved = try #require(try workspace.json("move-originals").of("moved").first)
    // Their names are there, too.
    let manifest = try workspace.read("library/manifest/0001.jsonl")
    #expect(try bucket.manifest() == ["0001.jsonl": manifest])
    #expect(moved["copied"] == 5 && moved["removed"] == 5)
    #expect(try workspace.files(below: "library/originals") == [])
    #expect(try bucket.files(below: "originals") == paths)
    #expect(!workspace.exists("library/damage.json"))
    #expect(try workspace.assets() == before)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(try workspace.json("move-originals").of("moved").first?["copied"] == 0)
    try workspace.json("move-originals", "library")
    try workspace.configure()
    #expect(try bucket.files(below: "originals") == [])
    #expect(try workspace.files(below: "library/originals") == paths)
    #expect(try workspace.assets() == before)
    try workspace.expectSound()
  }

  @Test(
    "Of many originals a damaged one stops the move, and of those in the bucket a wrong one is replaced"
  )
  func manyMoved() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    // More than are copied together.
    try put(70, in: workspace)
    try workspace.json("run")
    let paths = try workspace.files(below: "library/originals")
    let damaged = BytePath("library/originals").appending(paths[40])
    let whole = try workspace.read(damaged)
    #expect(chmod("\(workspace.root)/\(damaged)", 0o644) == 0)
    try workspace.write([0] + whole.dropFirst(), to: damaged)
    let refused = try workspace.run("move-originals", BytePath(bucket.location))
    #expect(refused.exitCode == 1 && refused.errors.contains("is damaged"), "\(refused.errors)")
    #expect(try workspace.files(below: "library/originals") == paths)
    #expect(try workspace.files(below: "library/incoming") == [])
    try workspace.write(whole, to: damaged)
    // Of another size, under the name of one that is yet to be copied.
    let wrong = "originals/\(paths[69])"
    try bucket.remove(wrong)
    try bucket.write([1, 2, 3], to: wrong)
    let moved = try workspace.json("move-originals", BytePath(bucket.location), "--keep").of(
      "moved")
    #expect(moved.first?["removed"] == 0)
    #expect(try workspace.files(below: "library/originals") == paths)
    #expect(try bucket.files(below: "originals") == paths)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    let back = try workspace.json("move-originals", "library").of("moved").first
    #expect(back?["copied"] == 0 && back?["removed"] == 70)
    #expect(try workspace.files(below: "library/incoming") == [])
    try workspace.expectSound()
  }

  @Test(
    "What is in the new place already is replaced there if it is not whole",
    arguments: [false, true])
  func damagedMeanwhile(keepsOld: Bool) throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(5, in: workspace)
    try workspace.json("run")
    let paths = try workspace.files(below: "library/originals")
    try workspace.json("move-originals", BytePath(bucket.location), "--keep")
    // Of the same size, so that no list shows it.
    let rotten = BytePath("library/originals").appending(paths[2])
    let whole = try workspace.read(rotten)
    let wrong = [whole[0] ^ 1] + whole.dropFirst()
    #expect(chmod("\(workspace.root)/\(rotten)", 0o644) == 0)
    try workspace.write(wrong, to: rotten)
    // In neither place there are good bytes.
    let key = "originals/\(paths[2])"
    try bucket.write(wrong, to: key)
    let refused = try workspace.run("move-originals", "library", "--keep")
    #expect(refused.exitCode == 1 && refused.errors.contains("is not whole, nor is"), "\(refused)")
    #expect(try bucket.files(below: "originals") == paths)
    try bucket.write(whole, to: key)
    // It goes on, which the configuration says from where.
    try workspace.configure(["originals": .string(bucket.location)])
    let moved =
      try keepsOld
      ? workspace.json("move-originals", "library", "--keep")
      : workspace.json("move-originals", "library")
    #expect(moved.of("moved").first?["copied"] == 1)
    #expect(moved.of("moved").first?["removed"]?.integer == (keepsOld ? 0 : 5))
    try workspace.configure()
    #expect(try workspace.read(rotten) == whole)
    #expect(try workspace.files(below: "library/damaged").count == 1)
    #expect(try bucket.files(below: "originals") == (keepsOld ? paths : []))
    try workspace.expectSound()
  }

  @Test("What is in the bucket already is replaced if it is not whole")
  func damagedInBucket() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(5, in: workspace)
    try workspace.json("run")
    let paths = try workspace.files(below: "library/originals")
    try workspace.json("move-originals", BytePath(bucket.location), "--keep")
    try workspace.json("move-originals", "library", "--keep")
    let key = "originals/\(paths[2])"
    let whole = try bucket.read(key)
    let wrong = [whole[0] ^ 1] + whole.dropFirst()
    try bucket.write(wrong, to: key)
    let moved = try workspace.json("move-originals", BytePath(bucket.location)).of("moved").first
    #expect(moved?["copied"] == 1 && moved?["removed"] == 5, "\(String(describing: moved))")
    #expect(try bucket.read(key) == whole)
    let aside = try #require(try bucket.files(below: "damaged").first)
    #expect(try bucket.read("damaged/\(aside)") == wrong)
    #expect(try workspace.files(below: "library/originals") == [])
    #expect(try workspace.files(below: "library/incoming") == [])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A bucket gets the manifest again when the originals come to it anew")
  func manifestAfterMoves() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(2, in: workspace)
    try workspace.json("run")
    try workspace.configure(["originals": .string(bucket.location)])
    try workspace.json("move-originals")
    try workspace.json("run")
    let copies = try bucket.manifest()
    #expect(copies.count == 1)
    try workspace.json("move-originals", "library")
    // As in a bucket of the same name on another server.
    for name in copies.keys { try bucket.remove("manifest/\(name)") }
    try workspace.json("move-originals")
    try workspace.json("run")
    #expect(try bucket.manifest() == copies)
  }

  @Test("What the bucket has lost comes from local copies, and what is nowhere is told each time")
  func lostMeanwhile() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace(bucket: bucket)
    try put(5, in: workspace)
    try workspace.json("run")
    let paths = try bucket.files(below: "originals")
    for path in paths.prefix(2) { try bucket.remove("originals/\(path)") }
    let copies = try workspace.files(below: "library/cache").filter {
      $0.lastComponent == paths[0].lastComponent
    }
    #expect(copies.count == 1)
    for copy in copies {
      #expect(unlink("\(workspace.root)/library/cache/\(copy)") == 0)
    }
    for number in 0..<2 {
      let moved = try workspace.run("move-originals", "library", "--json")
      #expect(moved.exitCode == 3, "\(moved)")
      #expect(moved.errors.contains("1 recorded original is in neither place"), "\(moved)")
      let event = try moved.events().of("moved").first
      #expect(event?["missing"] == 1 && event?["copied"]?.integer == (number == 0 ? 4 : 0))
    }
    let folder = "\(workspace.root)/library/originals"
    let now = try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
      $0.contains("/")
    }
    #expect(now.sorted() == paths.dropFirst().map(\.description))
  }

  @Test("Originals do not move back to a disk without room for them")
  func noRoom() throws {
    let bucket = try TestBucket()
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(2, in: workspace)
    try workspace.json("run")
    try workspace.json("move-originals", BytePath(bucket.location))
    try workspace.configure(["originals": .string(bucket.location), "reserve": "9000TiB"])
    let refused = try workspace.run("move-originals", "library")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("in reserve, so nothing was moved"),
      "\(refused)")
    #expect(try workspace.files(below: "library/originals") == [])
    try workspace.configure(["originals": .string(bucket.location)])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A move that was interrupted is continued")
  func interruptedMove() throws {
    let server = try ObjectServer.shared.get()
    let isAway = Atomic(false)
    let puts = Atomic(0)
    let proxy = try FaultProxy(to: server.port) { request in
      // All come at the same time.
      guard isAway.load(ordering: .relaxed), request.method == "PUT",
        request.target.contains("originals/")
      else { return .none }
      return puts.add(1, ordering: .relaxed).newValue > 2 ? .status(403) : .none
    }
    defer { proxy.end() }
    let bucket = try TestBucket(through: proxy.endpoint)
    let workspace = try Workspace()
    guard workspace.bucket == nil else { return }
    workspace.program.environment.merge(bucket.environment) { $1 }
    try put(5, in: workspace)
    try workspace.json("run")
    isAway.store(true, ordering: .relaxed)
    try workspace.json("move-originals", BytePath(bucket.location), exit: 1)
    #expect(try workspace.files(below: "library/originals").count == 5)
    try workspace.expectSound()
    isAway.store(false, ordering: .relaxed)
    let moved = try workspace.json("move-originals", BytePath(bucket.location)).of("moved").first
    #expect(moved?["copied"] == 3 && moved?["removed"] == 5)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  // MARK: Serving

  @Test("A browser gets originals that are only in the bucket")
  func serve() throws {
    let workspace = try Workspace(bucket: TestBucket())
    try put(2, in: workspace)
    try workspace.json("run")
    try Descriptor.openFolder(workspace.library).removeTree(.init(name: "cache", kind: .folder))
    let served = try ServedLibrary(workspace)
    let id = try served.id("1.jpg")
    for _ in 0..<2 {
      let answer = try served.get("/o/\(id)")
      #expect(answer.status == 200)
      #expect(answer.body == (try Pictures.jpeg(width: 81, height: 60)))
    }
    #expect(try served.get("/o/\(id)", ["Range": "bytes=0-1"]).status == 206)
    try served.stop()
  }
}

extension BuiltProgramRun {
  /// The complete lines so far.
  func eventsSoFar() throws -> [JSONValue] {
    try outputSoFar.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .dropLast()
      .map { try JSONText.decode(JSONValue.self, from: $0) }
  }
}

extension [JSONValue] {
  fileprivate var states: [String] { compactMap { $0["state"]?.string } }
}
