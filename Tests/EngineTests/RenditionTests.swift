import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin
import Records
import Synchronization
import Testing

@testable import Engine

@Suite("Renditions", .timeLimit(.minutes(1)))
struct RenditionTests {
  let fixture: EngineFixture

  init() throws { fixture = try EngineFixture() }

  private static let small = [UInt8](repeating: 1, count: 100)
  private static let large = [UInt8](repeating: 2, count: StorageLimit.automatic + 1)

  /// A plugin that makes a small and a large rendition.
  private func both() -> FakeBackend {
    FakeBackend(FakeBackend.manifest("both")) { request, _ in
      writeOutput(Self.small, "small.jpg", request)
      writeOutput(Self.large, "large.jpg", request)
      return .done(
        renditions: [rendition("small", at: "small.jpg"), rendition("large", at: "large.jpg")])
    }
  }

  private func stage(_ storage: StageConfiguration.Storage) -> StageConfiguration {
    .stage("b", "both") { $0.storage = storage }
  }

  private func bytes(_ record: RenditionRecord) throws -> [UInt8]? {
    guard let path = record.path else { return try fixture.reader.renditionBytes(record.id) }
    return try Descriptor.open(fixture.temporary.appending(BytePath(path)), flags: O_RDONLY)
      .readToEnd()
  }

  private func check(_ asset: AssetID, inFiles names: Set<String>) throws {
    let records = try fixture.renditions(of: asset)
    #expect(records.map(\.name).sorted() == ["large", "small"])
    #expect(Set(records.filter { $0.path != nil }.map(\.name)) == names)
    for record in records {
      let expected = record.name == "small" ? Self.small : Self.large
      #expect(try bytes(record) == expected)
      #expect(record.digest == SHA256.digest(of: expected) && record.bytes == expected.count)
    }
    #expect(
      Set(try fixture.files("renditions").map(\.description))
        == Set(records.compactMap(\.path)))
  }

  private static let policies: [(StageConfiguration.Storage, Set<String>)] = [
    (.database, []), (.file, ["small", "large"]), (.auto, ["large"]),
  ]

  @Test("Bytes are kept where the policy wants them", arguments: policies)
  func storage(policy: StageConfiguration.Storage, files: Set<String>) throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(policy)], [both()])
    try check(asset, inFiles: files)
    for path in try fixture.files("renditions") {
      let status = try Descriptor.open(fixture.temporary.appending(path), flags: O_RDONLY).status()
      #expect(status.permissions & 0o077 == 0)
    }
  }

  @Test(
    "A changed policy moves the bytes and runs no job", arguments: policies, policies)
  func relocation(
    from: (StageConfiguration.Storage, Set<String>), to: (StageConfiguration.Storage, Set<String>)
  ) throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(from.0)], [both()])
    let backend = both()
    let plan = try fixture.plan([stage(to.0)], [backend])
    let engine = try fixture.engine(plan)
    try RenditionRelocation(engine: engine, plan: plan).run(settings: fixture.catalog) { false }
    try check(asset, inFiles: to.1)
    try engine.drain { false }
    #expect(backend.jobs == 0)
  }

  @Test(
    "A ledger on a server keeps all sizes unless files are wanted, also those that are files now")
  func server() throws {
    var assets = [try fixture.add("x")]
    try fixture.run([stage(.auto)], [both()])
    try check(assets[0], inFiles: ["large"])
    let ledger = ServerLedger(ledger: fixture.catalog)
    for (policy, files) in [
      (StageConfiguration.Storage.auto, Set<String>()), (.file, ["small", "large"]),
    ] {
      let backend = both()
      let plan = try fixture.plan([stage(policy)], [backend])
      let engine = try fixture.engine(plan, ledger: ledger)
      try RenditionRelocation(engine: engine, plan: plan).run(settings: fixture.catalog) { false }
      assets.append(try fixture.add("\(policy)"))
      try engine.drain { false }
      #expect(backend.jobs == 1)
      for asset in assets {
        let records = try fixture.renditions(of: asset)
        #expect(Set(records.filter { $0.path != nil }.map(\.name)) == files)
        for record in records { #expect(try bytes(record)?.count == record.bytes) }
      }
      #expect(try fixture.files("renditions").count == files.count * assets.count)
      engine.close()
    }
  }

  @Test("Who asks it to stop waits for one rendition at most; the rest is moved the next time")
  func stoppedRelocation() throws {
    for index in 0..<3 { try fixture.add("\(index)") }
    try fixture.run([stage(.database)], [both()])
    let plan = try fixture.plan([stage(.file)], [both()])
    let relocation = RenditionRelocation(engine: try fixture.engine(plan), plan: plan)
    var asked = 0
    try relocation.run(settings: fixture.catalog) {
      asked += 1
      return asked > 2
    }
    #expect(try fixture.files("renditions").count == 2)
    try relocation.run(settings: fixture.catalog) { false }
    #expect(try fixture.files("renditions").count == 6)
  }

  @Test("Who still has a file open for writing does not change the rendition that was made of it")
  func openForWriting() throws {
    let asset = try fixture.add("x")
    let kept = Mutex<[Descriptor]>([])
    let backend = FakeBackend(FakeBackend.manifest("both")) { request, _ in
      for (name, content) in [("small.jpg", Self.small), ("large.jpg", Self.large)] {
        writeOutput(content, name, request)
        let path = BytePath(request.output).appending(BytePath(name))
        if let file = try? Descriptor.open(path, flags: O_WRONLY) {
          kept.withLock { $0.append(file) }
        }
      }
      return .done(
        renditions: [rendition("small", at: "small.jpg"), rendition("large", at: "large.jpg")])
    }
    try fixture.run([stage(.file)], [backend])
    let writers = kept.withLock { $0 }
    try #require(writers.count == 2)
    for writer in writers { try writer.write(Array("something else".utf8)) }
    try check(asset, inFiles: ["small", "large"])
    #expect(try fixture.files("work").isEmpty)
    for path in try fixture.files("renditions") {
      let status = try Descriptor.open(fixture.temporary.appending(path), flags: O_RDONLY).status()
      #expect(status.permissions == 0o600)
    }
  }

  @Test("A file that nobody writes any more is moved, not copied")
  func moved() throws {
    try fixture.add("x")
    let made = Mutex<UInt64?>(nil)
    let backend = FakeBackend(FakeBackend.manifest("one")) { request, _ in
      writeOutput(Self.large, "large.jpg", request)
      let path = BytePath(request.output).appending("large.jpg")
      let file = try? Descriptor.open(path, flags: O_RDONLY)
      let inode = try? file?.status().identity.inode
      made.withLock { $0 = inode }
      return .done(renditions: [rendition("large", at: "large.jpg")])
    }
    try fixture.run([.stage("o", "one")], [backend])
    let path = try #require(try fixture.files("renditions").first)
    let file = try Descriptor.open(fixture.temporary.appending(path), flags: O_RDONLY)
    let inode = try #require(made.withLock { $0 })
    #expect(try file.status().identity.inode == inode)
  }

  @Test(
    "What is too large for the database is a file, and stays one, whatever the policy wants",
    arguments: [StageConfiguration.Storage.database, .auto])
  func greatest(policy: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let backend = FakeBackend(FakeBackend.manifest("both")) { request, _ in
      // One with a hole, which is quick to write.
      writeOutput([1], "huge.jpg", request)
      truncate("\(request.output)/huge.jpg", StorageLimit.greatestInDatabase + 1)
      return .done(renditions: [rendition("huge", at: "huge.jpg")])
    }
    try fixture.run([stage(policy)], [backend])
    let record = try #require(try fixture.renditions(of: asset).first)
    #expect(record.path != nil && record.bytes == StorageLimit.greatestInDatabase + 1)
    let kept = try fixture.files("renditions").map(\.description)
    #expect(kept == [record.path])
    let plan = try fixture.plan([stage(policy)], [backend])
    // No policy of an earlier time is known, so all that lies elsewhere than it should is moved.
    try RenditionRelocation(engine: try fixture.engine(plan), plan: plan)
      .run(settings: fixture.catalog) { false }
    #expect(try fixture.files("renditions").map(\.description) == kept)
  }

  @Test("Who asks the program to end does not wait until a large file is read, and fails nothing")
  func stoppedCollecting() throws {
    let asset = try fixture.add("x")
    let isMade = Atomic(false)
    let backend = FakeBackend(FakeBackend.manifest("both")) { request, _ in
      writeOutput([1], "huge.jpg", request)
      // With a hole: to read it takes an hour.
      truncate("\(request.output)/huge.jpg", 1 << 40)
      isMade.store(true, ordering: .relaxed)
      return .done(renditions: [rendition("huge", at: "huge.jpg")])
    }
    let engine = try fixture.engine(try fixture.plan([stage(.file)], [backend]))
    defer { engine.close() }
    try engine.drain { isMade.load(ordering: .relaxed) }
    engine.stop(deadline: .now + .seconds(20))
    #expect(engine.activity == .idle)
    let job = try #require(try fixture.jobs(of: asset)["b"])
    #expect(job.state == .ready && job.failureClass == nil && job.attempts == 0)
    #expect(try fixture.files("renditions").isEmpty && fixture.files("work").isEmpty)
  }

  @Test("A file that grows while it is copied is told as that, and not as the user's wish")
  func growing() throws {
    let output = try Descriptor.openFolder(fixture.temporary.appending("work"))
    let writer = try Descriptor.open("a", in: output, flags: O_WRONLY | O_CREAT, mode: 0o600)
    let piece = [UInt8](repeating: 1, count: 2 << 20)
    try writer.write(piece)
    let error = #expect(throws: FileError.self) {
      try CollectedRendition(rendition("a", at: "a"), from: output, mostInDatabase: -1) {
        // It is asked before each mebibyte is copied. Without more it would not grow, which is
        // seen.
        try? writer.write(piece)
        return false
      }
    }
    #expect(error?.code == .changed)
    #expect(error?.message.contains("grew while it was copied") == true)
    let stopped = #expect(throws: FileError.self) {
      try output.remove("a")
      let writer = try Descriptor.open("a", in: output, flags: O_WRONLY | O_CREAT, mode: 0o600)
      try writer.write(piece)
      _ = try CollectedRendition(rendition("a", at: "a"), from: output, mostInDatabase: -1) { true }
    }
    #expect(stopped?.code == .stopped)
  }

  @Test("Bytes that are missing when they are to be moved are made again")
  func missingBytes() throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(.file)], [both()])
    for path in try fixture.files("renditions") {
      try #require(unlink("\(fixture.temporary.appending(path))") == 0)
    }
    let backend = both()
    let plan = try fixture.plan([stage(.database)], [backend])
    let engine = try fixture.engine(plan)
    try RenditionRelocation(engine: engine, plan: plan).run(settings: fixture.catalog) { false }
    #expect(try fixture.jobs(of: asset)["b"]?.state == .ready)
    try engine.drain { false }
    #expect(backend.jobs == 1)
    try check(asset, inFiles: [])
  }

  @Test("Bytes that can't be read when they are to be moved are made again, the others moved")
  func unreadableBytes() throws {
    let assets = try ["x", "y", "z"].map { try fixture.add($0) }
    try fixture.run([stage(.file)], [both()])
    let paths = try fixture.files("renditions").map { fixture.temporary.appending($0) }
    try #require(paths.count == 6)
    try #require(unlink("\(paths[0])") == 0 && symlink("\(paths[1])", "\(paths[0])") == 0)
    try #require(truncate("\(paths[3])", 1) == 0)
    let backend = both()
    let plan = try fixture.plan([stage(.database)], [backend])
    let engine = try fixture.engine(plan)
    try RenditionRelocation(engine: engine, plan: plan).run(settings: fixture.catalog) { false }
    try engine.drain { false }
    #expect(backend.jobs == 2)
    for asset in assets {
      #expect(try fixture.renditions(of: asset).allSatisfy { $0.path == nil })
    }
  }

  @Test("Where renditions can't be moved to, they stay and the next run moves them")
  func blockedMove() throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(.database)], [both()])
    let folder = "\(fixture.temporary.appending("renditions/b"))"
    try Descriptor.openFolder(fixture.temporary.path).writeDurably([1], as: "file")
    _ = rmdir(folder)
    try #require(symlink("\(fixture.temporary.appending("file"))", folder) == 0)
    let backend = both()
    let plan = try fixture.plan([stage(.file)], [backend])
    let relocation = RenditionRelocation(engine: try fixture.engine(plan), plan: plan)
    try relocation.run(settings: fixture.catalog) { false }
    #expect(try fixture.renditions(of: asset).allSatisfy { $0.path == nil })
    #expect(fixture.report.warnings.count == 1)
    try #require(unlink(folder) == 0)
    try relocation.run(settings: fixture.catalog) { false }
    #expect(try fixture.renditions(of: asset).allSatisfy { $0.path != nil })
    #expect(backend.jobs == 0)
  }

  @Test("A new rendition replaces the old one, whose file goes")
  func replaced() throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(.file)], [both()])
    let before = try fixture.files("renditions")
    var changed = stage(.file)
    changed.options = ["size": 1]
    try fixture.run([changed], [both()])
    let after = try fixture.files("renditions")
    #expect(after.count == 2 && Set(after).isDisjoint(with: before))
    try check(asset, inFiles: ["small", "large"])
    #expect(try fixture.renditions(of: asset).allSatisfy { !$0.isStale })
  }

  /// Ways of a plugin to hand over what is not its own.
  enum Trick: CaseIterable {
    case up, upAndDown, absolute, link, linkedFolder, hardLink, pipe, folder, missing, dots
  }

  @Test(
    "What is outside the output folder, or no plain file, is refused", arguments: Trick.allCases)
  func outside(trick: Trick) throws {
    let asset = try fixture.add("x")
    let root = try Descriptor.openFolder(fixture.temporary.path)
    try root.writeDurably([9, 9, 9], as: "secret")
    let secret = "\(fixture.temporary.appending("secret"))"
    let backend = FakeBackend(FakeBackend.manifest("trick")) { request, _ in
      let output = request.output
      let path: String
      switch trick {
      case .up: path = "../../../secret"
      case .upAndDown:
        mkdir("\(output)/a", 0o700)
        path = "a/../../../../secret"
      case .absolute: path = secret
      case .link:
        symlink(secret, "\(output)/x")
        path = "x"
      case .linkedFolder:
        symlink("\(secret)/..", "\(output)/x")
        symlink("../../..", "\(output)/y")
        path = "y/secret"
      case .hardLink:
        link(secret, "\(output)/x")
        path = "x"
      case .pipe:
        mkfifo("\(output)/x", 0o600)
        path = "x"
      case .folder:
        mkdir("\(output)/x", 0o700)
        path = "x"
      case .missing: path = "x"
      case .dots: path = ".."
      }
      return .done(renditions: [rendition("grid", at: path)])
    }
    for storage in [StageConfiguration.Storage.database, .file] {
      try fixture.run(
        [.stage("t\(storage.rawValue)", "trick") { $0.storage = storage }], [backend])
      let job = try #require(try fixture.jobs(of: asset)["t\(storage.rawValue)"])
      #expect(job.state == .failed && job.failureClass == "permanent")
      #expect(job.reason?.contains("unusable") == true)
    }
    #expect(try fixture.renditions(of: asset).isEmpty)
    #expect(try root.readFile("secret") == [9, 9, 9])
    #expect(try fixture.files("work").isEmpty && fixture.files("renditions").isEmpty)
  }

  @Test("A file in a folder of the output folder is as good as any")
  func inner() throws {
    let asset = try fixture.add("x")
    let backend = FakeBackend(FakeBackend.manifest("inner")) { request, _ in
      mkdir("\(request.output)/a", 0o700)
      writeOutput([5], "a/b.jpg", request)
      return .done(renditions: [rendition("grid", at: "a/b.jpg")])
    }
    try fixture.run([.stage("i", "inner") { $0.storage = .file }], [backend])
    let record = try #require(try fixture.renditions(of: asset).first)
    #expect(try bytes(record) == [5])
    #expect(try fixture.files("work").isEmpty)
  }

  @Test("Where several processes work, a late one does not overwrite what another has made anew")
  func perAttempt() throws {
    let asset = try fixture.add("x")
    let backend = both()
    let ledger = ServerLedger(ledger: fixture.catalog)
    let engine = try fixture.engine(try fixture.plan([stage(.file)], [backend]), ledger: ledger)
    try engine.drain { false }
    let former = try #require(try fixture.renditions(of: asset).first)
    try fixture.catalog.invalidate(rendition: former.id)
    try engine.drain { false }
    #expect(backend.jobs == 2)
    let path = try #require(former.path)
    let late = try Descriptor.openFolder(fixture.temporary.path).openParent(of: BytePath(path))
    try late.writeDurably([9, 9], as: BytePath(path).lastComponent)
    let records = try fixture.renditions(of: asset)
    #expect(!records.isEmpty && !records.contains { $0.path == path })
    for record in records { #expect(try bytes(record).map(SHA256.digest) == record.digest) }
  }

  @Test("What a killed job left in work/ is removed at the start, and links are not followed")
  func leftovers() throws {
    let root = try Descriptor.openFolder(fixture.temporary.path)
    try root.writeDurably([1], as: "precious")
    let work = try Descriptor.openFolder("work", in: root)
    try work.makeFolder("7")
    try Descriptor.openFolder("7", in: work).makeFolder("out")
    try #require(symlink("../..", "\(fixture.temporary.appending("work/7/up"))") == 0)
    _ = try fixture.engine(try fixture.plan([], []))
    #expect(try work.entries().isEmpty)
    #expect(try root.readFile("precious") == [1])
  }
}

/// A ledger as other machines reach it, too.
private struct ServerLedger: WrappedLedger {
  let ledger: any Ledger
  var isOnServer: Bool { true }
}
