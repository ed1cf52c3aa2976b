import Files
import Fixtures
import Glibc
import Hashing
import Originals
import PipelineModel
import Testing

@Suite("Stores of originals", .timeLimit(.minutes(1)))
struct StoreConformanceTests {
  @Test("The tree of folders keeps every promise of a store")
  func folderStore() throws {
    let faults = try StoreConformance.faults(of: FolderHarness())
    #expect(faults == [])
  }

  @Test(
    "The bucket keeps every promise of a store",
    .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)))
  func bucketStore() throws {
    let faults = try StoreConformance.faults(of: BucketHarness())
    #expect(faults == [])
  }

  @Test("A store that breaks one promise is caught", arguments: WrongStore.Fault.allCases)
  func wrongStore(fault: WrongStore.Fault) throws {
    #expect(try !StoreConformance.faults(of: FolderHarness(fault: fault)).isEmpty)
  }

  @Test("An original lies at ab/<sha256>, and nowhere else is one")
  func layout() throws {
    let digest = SHA256.digest(of: Array("abc".utf8))
    #expect(OriginalLayout.path(of: digest).description == "ba/\(digest.hex)")
    #expect(OriginalLayout.digest(folder: "ba", name: BytePath(digest.hex)) == digest)
    #expect(OriginalLayout.digest(folder: "bb", name: BytePath(digest.hex)) == nil)
    #expect(OriginalLayout.digest(folder: "BA", name: BytePath(digest.hex.uppercased())) == nil)
    #expect(OriginalLayout.digest(folder: "ba", name: BytePath(digest.hex + ".jpg")) == nil)
  }

  @Test("What may not be read is told as such, and what is beside it is given")
  func permissions() throws {
    let harness = try FolderHarness()
    let store = harness.store
    let digests = try ["one", "two", "three"].map { text in
      let bytes = Array(text.utf8)
      try harness.incoming.writeDurably(bytes, as: "new", mode: 0o444)
      let digest = SHA256.digest(of: bytes)
      _ = try store.put([.init(folder: harness.incoming, name: "new", digest: digest)])
      return digest
    }
    let paths = try digests.map { try store.lease($0).path }
    for folder in [harness.temporary.path, paths[0].parent.parent] + paths.map(\.parent) {
      try #require(chmod("\(folder)", 0o755) == 0)
    }
    try #require(chmod("\(paths[0])", 0) == 0 && chmod("\(paths[1].parent)", 0) == 0)
    let library = harness.temporary.path
    let (conditions, entries) = try Unprivileged.run {
      let store = try FolderStore(in: Descriptor.openFolder(library))
      var entries: [StoredEntry] = []
      try store.forEach { entry throws(FileError) in entries.append(entry) }
      return (try digests.map { try store.verify($0) }, entries)
    }
    for condition in conditions.prefix(2) {
      guard case .unreadable(let error) = condition else {
        Issue.record("\(condition)")
        continue
      }
      #expect(error.code == .permission)
    }
    #expect(conditions[2] == .whole(size: 5))
    try #require(chmod("\(paths[1].parent)", 0o755) == 0)
    #expect(entries.count == 3)
    #expect(entries.contains { if case .unreadable = $0 { true } else { false } })
  }

  @Test("What lies at an original's name and is no plain file is no original")
  func notRegular() throws {
    let harness = try FolderHarness()
    let bytes = Array("elsewhere".utf8)
    let digest = SHA256.digest(of: bytes)
    let elsewhere = harness.temporary.appending("elsewhere")
    try Descriptor.openFolder(harness.temporary.path).writeDurably(bytes, as: "elsewhere")
    let place = harness.temporary.appending("originals").appending(OriginalLayout.path(of: digest))
    try #require(mkdir("\(place.parent)", 0o700) == 0)
    try #require(symlink("\(elsewhere)", "\(place)") == 0)
    #expect(throws: FileError.self) { try harness.store.lease(digest) }
    guard case .unreadable(let error) = try harness.store.verify(digest) else {
      Issue.record("A link was read.")
      return
    }
    #expect(error.code == .notRegular && error.message.contains("is a symbolic link"))
    try #require(unlink("\(place)") == 0)
    try #require(mkfifo("\(place)", 0o600) == 0)
    // A pipe must not keep the caller waiting either.
    #expect(throws: FileError.self) { try harness.store.lease(digest) }
  }
}

/// The tree of folders in a temporary folder, perhaps behind a store with a fault.
struct FolderHarness: StoreConformance.Harness {
  let temporary: TemporaryFolder
  let store: any OriginalStore
  let incoming: Descriptor
  let obstacles = StoreConformance.Obstacle.allCases
  let blocks = true

  init(fault: WrongStore.Fault? = nil) throws {
    temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    for name: BytePath in ["originals", "incoming"] { try folder.makeFolder(name) }
    incoming = try Descriptor.openFolder("incoming", in: folder)
    let store = try FolderStore(in: folder)
    if let fault {
      self.store = WrongStore(store, fault: fault)
    } else {
      self.store = store
    }
  }

  func overwrite(_ digest: Digest, with bytes: [UInt8]) throws {
    let path = temporary.appending("originals").appending(OriginalLayout.path(of: digest))
    try Descriptor.openFolder(path.parent).writeDurably(
      bytes, as: path.lastComponent, mode: 0o444)
  }

  func obstruct(_ digest: Digest, with obstacle: StoreConformance.Obstacle) throws {
    let path = temporary.appending("originals").appending(OriginalLayout.path(of: digest))
    // What a store with a fault left there may be no file, or nothing.
    _ = remove("\(path)")
    switch obstacle {
    case .link: try #require(symlink("/dev/null", "\(path)") == 0)
    case .folder: try #require(mkdir("\(path)", 0o700) == 0)
    case .pipe: try #require(mkfifo("\(path)", 0o600) == 0)
    }
  }

  private func folders(of digest: Digest) -> (own: String, hidden: String) {
    let own = temporary.appending("originals").appending(OriginalLayout.folder(of: digest))
    return ("\(own)", "\(temporary.appending("hidden"))")
  }

  func block(_ digest: Digest) throws {
    let (own, hidden) = folders(of: digest)
    try #require(Glibc.rename(own, hidden) == 0 && symlink(hidden, own) == 0)
  }

  func unblock(_ digest: Digest) throws {
    let (own, hidden) = folders(of: digest)
    try #require(unlink(own) == 0 && Glibc.rename(hidden, own) == 0)
  }

  func addForeign() throws -> BytePath {
    let root = try Descriptor.openFolder(temporary.appending("originals"))
    try root.writeDurably([1], as: "notes.txt")
    return root.path.appending("notes.txt")
  }

  func keptApart() throws -> [[UInt8]] {
    guard let folder = try damaged() else { return [] }
    return try folder.entries().filter { $0.kind == .regular }.map { try folder.readFile($0.name) }
  }

  func obstaclesKeptApart() throws -> Int {
    try damaged()?.entries().count { $0.kind != .regular } ?? 0
  }

  private func damaged() throws -> Descriptor? {
    let root = try Descriptor.openFolder(temporary.path)
    guard try root.entries().contains(where: { $0.name == "damaged" }) else { return nil }
    return try Descriptor.openFolder("damaged", in: root)
  }
}
