import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Originals
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Removing sources", .timeLimit(.minutes(1)))
struct SourceRemovalTests {
  /// A file that is stored, and still in its folder.
  private struct Stored {
    let fixture: IngestFixture
    let name: BytePath
    let identity: FileIdentity
    let digest: Digest
    let removal: SourceRemoval

    init(_ text: String = "bytes", as name: BytePath = "a") throws {
      let fixture = try IngestFixture(.copy)
      self.fixture = fixture
      self.name = name
      identity = try fixture.write(text, to: name)
      try fixture.run()
      fixture.source.mode = .move
      digest = fixture.digest(text)
      removal = SourceRemoval(
        source: try IngestSource(fixture.source, for: nil), library: try fixture.library(),
        report: fixture.report)
    }

    func remove() throws -> SourceRemoval.Outcome {
      removal.remove(
        name, in: try Descriptor.openFolder(fixture.source.path), expecting: identity,
        storedAs: digest)
    }

    /// Opens the file for writing; closed when the result goes.
    func open() throws -> Descriptor {
      try Descriptor.open(fixture.path(name), flags: O_WRONLY)
    }

    var isThere: Bool { fixture.exists(name) }
  }

  @Test("A file that is what was hashed is removed")
  func removed() throws {
    let stored = try Stored()
    #expect(try stored.remove() == .gone)
    #expect(!stored.isThere)
    #expect(try stored.remove() == .gone)
  }

  @Test("A file whose original is missing stays for the next look, which stores it again")
  func missing() throws {
    let stored = try Stored()
    let original = stored.fixture.layout.originals.appending(
      OriginalLayout.path(of: stored.digest))
    #expect(unlink(original.description) == 0)
    #expect(try stored.remove() == .later)
    #expect(stored.isThere)
    let warnings = stored.fixture.report.warnings
    #expect(warnings.count == 1 && warnings[0].contains("stores its bytes again"), "\(warnings)")
  }

  @Test("A file that was edited since stays, even if its size and time are what they were")
  func edited() throws {
    let stored = try Stored()
    func edit() throws {
      let file = try stored.open()
      try file.write(Array("BYTES".utf8))
      try file.setModified(stored.identity.modified)
      try #require(try file.status().identity.isSameFile(as: stored.identity))
    }
    try edit()
    #expect(try stored.remove() == .gone)
    #expect(try filesBelow(stored.fixture.source.path) == ["a": Array("BYTES".utf8)])
  }

  @Test("Another file under the same name stays")
  func replaced() throws {
    let stored = try Stored()
    try stored.fixture.remove("a")
    try stored.fixture.write("bytes", to: "a")
    #expect(try stored.remove() == .gone)
    #expect(stored.isThere)
  }

  @Test("A file of which only the permissions changed is removed: its bytes are the same")
  func touched() throws {
    let stored = try Stored()
    try stored.open().setPermissions(0o600)
    #expect(try stored.remove() == .gone)
    #expect(!stored.isThere)
  }

  @Test("A file that somebody has open for writing stays until that is over")
  func openForWriting() throws {
    let stored = try Stored()
    var writer: Descriptor? = try stored.open()
    #expect(try stored.remove() == .later)
    #expect(stored.isThere)
    try writer?.sync()
    writer = nil
    #expect(try stored.remove() == .gone)
    #expect(!stored.isThere)
  }

  @Test("A name of the stored original itself stays")
  func originalItself() throws {
    let stored = try Stored()
    try stored.fixture.remove("a")
    let folder = try Descriptor.openFolder(stored.fixture.source.path)
    try folder.link(stored.fixture.original("bytes"), as: "a")
    let status = try folder.status(of: "a")
    let outcome = stored.removal.remove(
      "a", in: folder, expecting: status.identity, storedAs: stored.digest)
    #expect(outcome == .kept)
    #expect(stored.isThere && stored.fixture.report.warnings.count == 1)
  }

  @Test(
    "A file that bears its own digest as its name is removed if it is another than the original")
  func named() throws {
    let fixture = try IngestFixture()
    let stored = try Stored("bytes", as: BytePath(fixture.digest("bytes").hex))
    let before = try FileSystem.status(of: stored.fixture.original("bytes")).identity.modified
    #expect(try stored.remove() == .gone)
    #expect(!stored.isThere)
    #expect(
      try FileSystem.status(of: stored.fixture.original("bytes")).identity.modified == before)
  }

  @Test("If the original went with its source, the bytes are stored again")
  func lost() throws {
    let stored = try Stored()
    let path = stored.fixture.original("bytes")
    let check = RemovalCheck(
      source: try Descriptor.open(stored.fixture.path("a"), flags: O_RDONLY),
      original: try Descriptor.open(path, flags: O_RDONLY))
    try Descriptor.openFolder(path.parent).remove(path.lastComponent)
    try stored.fixture.remove("a")
    stored.removal.restoreIfLost(stored.digest, from: check, stored.fixture.path("a"))
    #expect(
      try filesBelow(stored.fixture.layout.originals).values.map { $0 } == [Array("bytes".utf8)])
    #expect(stored.fixture.report.warnings.count == 1)
    #expect(try stored.fixture.problems(unlocked: true).isEmpty)
  }

  @Test("Two names of one file are taken, and removed, in one run")
  func hardLinks() throws {
    let fixture = try IngestFixture()
    try fixture.write("bytes", to: "a")
    try Descriptor.openFolder(fixture.source.path).link(fixture.path("a"), as: "b")
    #expect(try fixture.outcomes() == ["a": .imported, "b": .duplicate])
    #expect(try filesBelow(fixture.source.path).isEmpty)
    #expect(try fixture.run().isEmpty)
  }

  // MARK: Removals that wait for the next run

  /// A run that stored a file and could not remove it, because somebody else wrote to it then.
  private func pending(
    _ policy: SourceConfiguration.Duplicates = .discard, isDuplicate: Bool = false
  ) throws -> IngestFixture {
    let fixture = try IngestFixture(duplicates: policy)
    fixture.source.take = .copy
    if isDuplicate {
      try fixture.write("bytes", to: "first")
      try fixture.run()
    }
    try fixture.write("bytes", to: "a")
    try fixture.run()
    let sighting = try #require(try fixture.sighting("a"))
    // As a kill before the removal leaves it.
    let identity = try fixture.write("bytes", to: "a")
    var awaiting = sighting
    awaiting.identity = identity
    awaiting.awaitsRemoval = true
    try fixture.library().catalog.apply([.sighting(awaiting)], manifestPosition: 0)
    return fixture
  }

  @Test("What awaits its removal is removed by the next run")
  func deferred() throws {
    let fixture = try pending()
    #expect(try fixture.run().isEmpty)
    #expect(!fixture.exists("a"))
  }

  @Test("What awaits its removal heals an original that was damaged meanwhile, and goes then")
  func healing() throws {
    let fixture = try pending()
    let path = fixture.original("bytes")
    try Descriptor.openFolder(path.parent).writeDurably(
      Array("BYTES".utf8), as: path.lastComponent, mode: 0o444)
    try fixture.run()
    #expect(!fixture.exists("a"))
    #expect(try filesBelow(fixture.layout.originals).values.map { $0 } == [Array("bytes".utf8)])
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("What awaits its removal while somebody writes to it is kept, and taken when it changed")
  func deferredOpen() throws {
    let fixture = try pending()
    var writer: Descriptor? = try Descriptor.open(fixture.path("a"), flags: O_WRONLY | O_APPEND)
    try fixture.run()
    #expect(fixture.exists("a"))
    try writer?.write(Array(" and more".utf8))
    writer = nil
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().map(\.digest).contains(fixture.digest("bytes and more")))
  }

  @Test(
    "A source that is copied from by now loses no file, and neither does one that keeps duplicates")
  func changedRules() throws {
    let copied = try pending()
    copied.source.mode = .copy
    #expect(try copied.run().isEmpty)
    #expect(copied.exists("a"))
    #expect(try copied.sighting("a")?.awaitsRemoval == false)

    let kept = try pending(.discard, isDuplicate: true)
    kept.source.duplicates = .keep
    #expect(try kept.run().isEmpty)
    #expect(kept.exists("a"))
    #expect(try kept.sighting("a")?.awaitsRemoval == false)
  }
}
