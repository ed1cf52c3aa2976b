import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Records
import Testing

@Suite("Content that is stored already", .timeLimit(.minutes(1)))
struct DuplicateTests {
  /// A fixture in which “hello” is stored, and lies in the source once more.
  private func fixture(
    _ policy: SourceConfiguration.Duplicates, _ mode: SourceConfiguration.Mode = .move
  ) throws -> IngestFixture {
    let fixture = try IngestFixture(mode, duplicates: policy)
    try fixture.write("hello", to: "first")
    #expect(try fixture.outcomes() == ["first": .imported])
    try fixture.write("hello", to: "second", permissions: 0o640)
    return fixture
  }

  @Test("“discard” removes the source once the stored original was read again")
  func discard() throws {
    let fixture = try fixture(.discard)
    let event = try #require(try fixture.run()["second"])
    #expect(event.outcome == .duplicate)
    #expect(try event.asset == fixture.assets().first?.id)
    #expect(!fixture.exists("second"))
    #expect(try fixture.assets().count == 1)
    #expect(try LibraryState(fixture).incoming.isEmpty)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A damaged original is healed from the duplicate, and the damaged bytes are kept")
  func heal() throws {
    for policy in [SourceConfiguration.Duplicates.discard, .asset] {
      let fixture = try fixture(policy)
      try fixture.spoil("hello")
      #expect(try fixture.problems().map(\.kind) == [.originalDamaged])
      try fixture.run()
      #expect(!fixture.exists("second"))
      #expect(try fixture.problems().isEmpty)
      #expect(try filesBelow(fixture.layout.damaged).values.map { $0 } == [Array("spoiled".utf8)])
      #expect(fixture.report.warnings.count == 1)
      #expect(fixture.report.warnings.first?.contains("\(fixture.digest("hello"))") == true)
      #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    }
  }

  @Test("A missing original is stored again from the duplicate")
  func missing() throws {
    let fixture = try fixture(.discard)
    try #require(unlink("\(fixture.original("hello"))") == 0)
    #expect(try fixture.outcomes() == ["second": .duplicate])
    #expect(try fixture.problems().isEmpty)
    #expect(try fixture.assets().count == 1)
  }

  @Test("“keep” leaves the file where it is, as it was, and does not look at it again")
  func keep() throws {
    let fixture = try fixture(.keep)
    let before = try fixture.identity("second")
    #expect(try fixture.outcomes() == ["second": .duplicate])
    let after = try fixture.folder(of: "second").status(of: "second")
    #expect(after.identity.isSameFile(as: before) && after.permissions == 0o640)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 1)
  }

  @Test(
    "“file” moves the file to duplicates/ with its name, permissions and time",
    arguments: SourceConfiguration.TransferMode.allCases)
  func file(take: SourceConfiguration.TransferMode) throws {
    let fixture = try fixture(.file)
    fixture.source.take = take
    let before = try fixture.identity("second")
    #expect(try fixture.outcomes() == ["second": .duplicate])
    #expect(!fixture.exists("second"))
    let filed = try filesBelow(fixture.layout.duplicates)
    let path = try #require(filed.keys.first)
    #expect(filed.count == 1 && path.lastComponent == "second")
    #expect(filed[path] == Array("hello".utf8))
    let status = try Descriptor.open(
      fixture.layout.duplicates.appending(path), flags: O_RDONLY
    ).status()
    #expect(status.permissions == 0o640 && status.identity.modified == before.modified)
    #expect(try fixture.assets().count == 1)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("“file” keeps two files of one name apart")
  func fileTwice() throws {
    let fixture = try fixture(.file)
    try fixture.write("hello", to: "folder/second")
    try fixture.run()
    #expect(try filesBelow(fixture.layout.duplicates).count == 2)
  }

  @Test("“asset” makes a second asset on the same original")
  func asset() throws {
    let fixture = try fixture(.asset)
    #expect(try fixture.outcomes() == ["second": .imported])
    #expect(!fixture.exists("second"))
    let assets = try fixture.assets()
    #expect(assets.map(\.name) == ["first", "second"])
    #expect(Set(assets.map(\.digest)).count == 1)
    #expect(try filesBelow(fixture.layout.originals).count == 1)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("In mode “copy”, “discard” means “keep”")
  func copyMode() throws {
    let fixture = try fixture(.discard, .copy)
    #expect(try fixture.outcomes() == ["second": .duplicate])
    #expect(fixture.exists("first") && fixture.exists("second"))
    #expect(try fixture.run().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test(
    "The same content several times in one group is one asset, or as many as the policy says",
    arguments: SourceConfiguration.Duplicates.allCases)
  func sameGroup(policy: SourceConfiguration.Duplicates) throws {
    let fixture = try IngestFixture(duplicates: policy)
    for name: BytePath in ["a", "b", "c"] { try fixture.write("same", to: name) }
    let outcomes = try fixture.outcomes()
    #expect(outcomes["a"] == .imported && outcomes.count == 3)
    #expect(try fixture.assets().count == (policy == .asset ? 3 : 1))
    #expect(try filesBelow(fixture.layout.originals).count == 1)
    #expect(try filesBelow(fixture.source.path).count == (policy == .keep ? 2 : 0))
    #expect(try filesBelow(fixture.layout.duplicates).count == (policy == .file ? 2 : 0))
    #expect(try fixture.problems().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("A kept duplicate whose place is taken meanwhile is not put over the newcomer")
  func placeTaken() throws {
    let fixture = try IngestFixture(duplicates: .keep)
    try fixture.write("hello", to: "first")
    try fixture.run()
    try fixture.write("hello", to: "second")
    #expect(try fixture.outcomes() == ["second": .duplicate])
    try fixture.write("other", to: "second")
    #expect(try fixture.outcomes() == ["second": .imported])
    #expect(try fixture.assets().count == 2)
  }
}
