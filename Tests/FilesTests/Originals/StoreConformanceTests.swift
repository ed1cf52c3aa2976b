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
    #expect(try StoreConformance.faults(of: FolderHarness()).isEmpty)
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
    #expect(throws: FileError.self) { try harness.store.materialize(digest) }
    #expect(throws: FileError.self) { try harness.store.verify(digest) }
    try #require(unlink("\(place)") == 0)
    try #require(mkfifo("\(place)", 0o600) == 0)
    // A pipe must not keep the caller waiting either.
    #expect(throws: FileError.self) { try harness.store.materialize(digest) }
  }
}

/// The tree of folders in a temporary folder, perhaps behind a store with a fault.
struct FolderHarness: StoreConformance.Harness {
  let temporary: TemporaryFolder
  let store: any OriginalStore
  let incoming: Descriptor

  init(fault: WrongStore.Fault? = nil) throws {
    temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    for name: BytePath in ["originals", "incoming"] { try folder.makeFolder(name) }
    incoming = try Descriptor.openFolder("incoming", in: folder)
    let store = try FolderStore(
      root: temporary.appending("originals"), damaged: temporary.appending("damaged"))
    self.store = fault.map { WrongStore(store, fault: $0) } ?? store
  }

  func overwrite(_ digest: Digest, with bytes: [UInt8]) throws {
    let path = temporary.appending("originals").appending(OriginalLayout.path(of: digest))
    try Descriptor.openFolder(path.parent).writeDurably(
      bytes, as: path.lastComponent, mode: 0o444)
  }

  func addForeign() throws -> BytePath {
    let root = try Descriptor.openFolder(temporary.appending("originals"))
    try root.writeDurably([1], as: "notes.txt")
    return root.path.appending("notes.txt")
  }

  func keptApart() throws -> [[UInt8]] {
    // Asked first, since Swift 6.3.1 crashes on, or never ends with, a `do` and `catch` here.
    let names = try Descriptor.openFolder(temporary.path).entries().map(\.name)
    guard names.contains("damaged") else { return [] }
    let folder = try Descriptor.openFolder(temporary.appending("damaged"))
    var found: [[UInt8]] = []
    for entry in try folder.entries() { found.append(try folder.readFile(entry.name)) }
    return found
  }
}
