import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Testing

@Suite("Content that is stored already", .timeLimit(.minutes(1)))
struct DuplicateTests {
  /// A scene in which “hello” is stored, and lies in the source once more.
  private func scene(
    _ policy: SourceConfiguration.Duplicates, _ mode: SourceConfiguration.Mode = .move
  ) throws -> Scene {
    let scene = try Scene(mode, duplicates: policy)
    try scene.write("hello", to: "first")
    #expect(try scene.outcomes() == ["first": .imported])
    try scene.write("hello", to: "second", permissions: 0o640)
    return scene
  }

  @Test("“discard” removes the source once the stored original was read again")
  func discard() throws {
    let scene = try scene(.discard)
    let event = try #require(try scene.run()["second"])
    #expect(event.outcome == .duplicate)
    #expect(try event.asset == scene.assets().first?.id)
    #expect(!scene.exists("second"))
    #expect(try scene.assets().count == 1)
    #expect(try LibraryState(scene).incoming.isEmpty)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A damaged original is healed from the duplicate, and the damaged bytes are kept")
  func heal() throws {
    for policy in [SourceConfiguration.Duplicates.discard, .asset] {
      let scene = try scene(policy)
      try scene.spoil("hello")
      #expect(try scene.problems().map(\.kind) == [.originalDamaged])
      try scene.run()
      #expect(!scene.exists("second"))
      #expect(try scene.problems().isEmpty)
      #expect(try filesBelow(scene.layout.damaged).values.map { $0 } == [Array("spoiled".utf8)])
      #expect(scene.report.warnings.count == 1)
      #expect(scene.report.warnings.first?.contains("\(scene.digest("hello"))") == true)
      #expect(try filesBelow(scene.layout.incoming).isEmpty)
    }
  }

  @Test("A missing original is stored again from the duplicate")
  func missing() throws {
    let scene = try scene(.discard)
    try #require(unlink("\(scene.original("hello"))") == 0)
    #expect(try scene.outcomes() == ["second": .duplicate])
    #expect(try scene.problems().isEmpty)
    #expect(try scene.assets().count == 1)
  }

  @Test("“keep” leaves the file where it is, as it was, and does not look at it again")
  func keep() throws {
    let scene = try scene(.keep)
    let before = try scene.identity("second")
    #expect(try scene.outcomes() == ["second": .duplicate])
    let after = try scene.folder(of: "second").status(of: "second")
    #expect(after.identity.isSameFile(as: before) && after.permissions == 0o640)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 1)
  }

  @Test(
    "“file” moves the file to duplicates/ with its name, permissions and time",
    arguments: SourceConfiguration.Taking.allCases)
  func file(take: SourceConfiguration.Taking) throws {
    let scene = try scene(.file)
    scene.source.take = take
    let before = try scene.identity("second")
    #expect(try scene.outcomes() == ["second": .duplicate])
    #expect(!scene.exists("second"))
    let filed = try filesBelow(scene.layout.duplicates)
    let path = try #require(filed.keys.first)
    #expect(filed.count == 1 && path.lastComponent == "second")
    #expect(filed[path] == Array("hello".utf8))
    let status = try Descriptor.open(
      scene.layout.duplicates.appending(path), flags: O_RDONLY
    ).status()
    #expect(status.permissions == 0o640 && status.identity.modified == before.modified)
    #expect(try scene.assets().count == 1)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("“file” keeps two files of one name apart")
  func fileTwice() throws {
    let scene = try scene(.file)
    try scene.write("hello", to: "folder/second")
    try scene.run()
    #expect(try filesBelow(scene.layout.duplicates).count == 2)
  }

  @Test("“asset” makes a second asset on the same original")
  func asset() throws {
    let scene = try scene(.asset)
    #expect(try scene.outcomes() == ["second": .imported])
    #expect(!scene.exists("second"))
    let assets = try scene.assets()
    #expect(assets.map(\.name) == ["first", "second"])
    #expect(Set(assets.map(\.digest)).count == 1)
    #expect(try filesBelow(scene.layout.originals).count == 1)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("In mode “copy”, “discard” means “keep”")
  func copyMode() throws {
    let scene = try scene(.discard, .copy)
    #expect(try scene.outcomes() == ["second": .duplicate])
    #expect(scene.exists("first") && scene.exists("second"))
    #expect(try scene.run().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test(
    "The same content several times in one group is one asset, or as many as the policy says",
    arguments: SourceConfiguration.Duplicates.allCases)
  func sameGroup(policy: SourceConfiguration.Duplicates) throws {
    let scene = try Scene(duplicates: policy)
    for name: BytePath in ["a", "b", "c"] { try scene.write("same", to: name) }
    let outcomes = try scene.outcomes()
    #expect(outcomes["a"] == .imported && outcomes.count == 3)
    #expect(try scene.assets().count == (policy == .asset ? 3 : 1))
    #expect(try filesBelow(scene.layout.originals).count == 1)
    #expect(try filesBelow(scene.source.path).count == (policy == .keep ? 2 : 0))
    #expect(try filesBelow(scene.layout.duplicates).count == (policy == .file ? 2 : 0))
    #expect(try scene.problems().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("A kept duplicate whose place is taken meanwhile is not put over the newcomer")
  func placeTaken() throws {
    let scene = try Scene(duplicates: .keep)
    try scene.write("hello", to: "first")
    try scene.run()
    try scene.write("hello", to: "second")
    #expect(try scene.outcomes() == ["second": .duplicate])
    try scene.write("other", to: "second")
    #expect(try scene.outcomes() == ["second": .imported])
    #expect(try scene.assets().count == 2)
  }
}
