import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import Renditions
import Testing

@Suite("Stores of renditions", .timeLimit(.minutes(1)))
struct RenditionConformanceTests {
  @Test("The tree of files keeps every promise of a store")
  func folder() throws {
    #expect(try RenditionConformance.faults(of: RenditionHarness()).isEmpty)
  }

  @Test("A store that breaks one promise is caught", arguments: WrongRenditionStore.Fault.allCases)
  func wrongStore(fault: WrongRenditionStore.Fault) throws {
    #expect(try !RenditionConformance.faults(of: RenditionHarness(fault: fault)).isEmpty)
  }

  private static let digest = SHA256.digest(of: [UInt8]())

  private static func name(_ mediaType: String = "image/jpeg") -> RenditionName {
    RenditionName(
      stage: "s", owner: digest.hex, fingerprint: Fingerprint(digest), rendition: "grid",
      mediaType: mediaType)
  }

  @Test("A file is found by stage, original, fingerprint and name")
  func layout() throws {
    let hex = Self.digest.hex
    #expect(
      RenditionLayout.path(of: Self.name()).description
        == "renditions/s/e3/\(hex).\(hex.prefix(16)).grid.jpg")
    for (type, suffix) in [
      ("image/png", "png"), ("image/svg+xml", "svg"), ("text/plain", "txt"),
      ("application/x-../../y", "y"), ("a/b.c-d", "bcd"),
    ] {
      #expect(RenditionLayout.name(of: Self.name(type)).description.hasSuffix(".grid.\(suffix)"))
    }
  }

  @Test("What is written, moved or copied is a file that nobody else may read")
  func permissions() throws {
    let harness = try RenditionHarness()
    try harness.incoming.writeDurably([1], as: "made", mode: 0o644)
    let made = try Descriptor.openRegular("made", in: harness.incoming)
    var names = [Self.name(), Self.name("image/png"), Self.name("image/webp")]
    let first = try harness.store.put([
      IncomingRendition(
        name: names.removeFirst(),
        content: .file(
          made, folder: harness.incoming, name: "made", digest: SHA256.digest(of: [1])))
    ])
    let digest = SHA256.digest(of: [1])
    let paths = try harness.store.put([
      IncomingRendition(name: names[0], content: .bytes([1])),
      IncomingRendition(name: names[1], content: .stored(path: first[0], digest: digest)),
    ])
    for path in first + paths {
      #expect(try harness.store.open(path).status().permissions == 0o600)
    }
  }

  @Test("A file is moved, not copied")
  func moved() throws {
    let harness = try RenditionHarness()
    try harness.incoming.writeDurably([1], as: "made")
    let made = try Descriptor.openRegular("made", in: harness.incoming)
    let path = try harness.store.put([
      IncomingRendition(
        name: Self.name(),
        content: .file(
          made, folder: harness.incoming, name: "made", digest: SHA256.digest(of: [1])))
    ])[0]
    #expect(try harness.store.open(path).status().isSameNode(as: made.status()))
    #expect(try harness.incoming.entries().isEmpty)
  }

  @Test("What lies at a rendition's path and is no plain file is none")
  func notRegular() throws {
    let harness = try RenditionHarness()
    let path = try harness.store.put([IncomingRendition(name: Self.name(), content: .bytes([1]))])[
      0]
    let place = "\(harness.temporary.appending(BytePath(path)))"
    let obstacles: [() -> Int32] = [
      { symlink("/dev/null", place) }, { mkdir(place, 0o700) }, { mkfifo(place, 0o600) },
    ]
    for obstruct in obstacles {
      _ = Glibc.remove(place)
      try #require(obstruct() == 0)
      let asked: [() throws -> Void] = [
        { _ = try harness.store.open(path) }, { _ = try harness.store.size(of: path) },
      ]
      for ask in asked {
        let error = #expect(throws: FileError.self) { try ask() }
        #expect(error?.code == .notRegular)
      }
    }
  }

  @Test("No path leads out of the library", arguments: ["../secret", "renditions/link/secret"])
  func outside(path: String) throws {
    let harness = try RenditionHarness()
    let library = try Descriptor.openFolder(harness.temporary.appending("library"))
    try Descriptor.openFolder(harness.temporary.path).writeDurably([9], as: "secret")
    try library.makeFolder("renditions")
    let link = "\(harness.temporary.appending("library/renditions/link"))"
    try #require(symlink("\(harness.temporary.path)", link) == 0)
    let store = RenditionFolder(in: library)
    #expect(throws: FileError.self) { try store.open(path) }
    // Whether that is an error or nothing is there does not matter.
    #expect((try? store.size(of: path)) == nil)
    try? store.remove(path)
    #expect(try Descriptor.openFolder(harness.temporary.path).readFile("secret") == [9])
  }
}

/// The tree of files in a temporary folder, perhaps behind a store with a fault.
struct RenditionHarness: RenditionConformance.Harness {
  let temporary: TemporaryFolder
  let store: any RenditionStore
  let incoming: Descriptor
  private let folder: Descriptor
  private let fault: WrongRenditionStore.Fault?

  init(fault: WrongRenditionStore.Fault? = nil) throws {
    temporary = try TemporaryFolder()
    self.fault = fault
    folder = try Descriptor.openFolder(temporary.path)
    for name: BytePath in ["library", "incoming"] { try folder.makeFolder(name) }
    incoming = try Descriptor.openFolder("incoming", in: folder)
    store = Self.open(folder, fault)
  }

  func reopen() -> any RenditionStore { Self.open(folder, fault) }

  private static func open(
    _ folder: Descriptor, _ fault: WrongRenditionStore.Fault?
  ) -> any RenditionStore {
    if let fault {
      WrongRenditionStore(in: folder, fault: fault)
    } else {
      RenditionFolder(in: folder)
    }
  }
}
