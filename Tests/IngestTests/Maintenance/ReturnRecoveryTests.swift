import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Records
import Testing

@Suite("A giving back that was interrupted", .timeLimit(.minutes(1)))
struct ReturnRecoveryTests {
  /// A library with one asset, of which the giving back was begun.
  private struct Begun {
    let fixture: IngestFixture
    let asset: AssetRecord
    let back: ManifestFact.Return

    init(_ action: ManifestFact.Return.Action) throws {
      fixture = try IngestFixture()
      try fixture.write("hello", to: "folder/a", permissions: 0o640)
      try fixture.recordedRun()
      asset = try #require(try fixture.assets().first)
      let library = try fixture.library()
      var identity = try FileSystem.status(of: fixture.original("hello")).identity
      identity.modified = asset.modified
      back = ManifestFact.Return(
        asset: asset.id, digest: asset.digest, action: action,
        place: .init(
          taking: library.ids.next(), source: asset.source, path: asset.path, identity: identity,
          permissions: 0o640, moves: true, run: nil))
      try library.manifest.append([.returning(back)])
    }

    func place() throws -> Descriptor { try fixture.folder(of: "folder/a") }

    var temporary: BytePath { BytePath(".pipeline-return-\(back.place.taking)") }

    /// As the rename leaves it, before anything else is done.
    func renameOut() throws {
      try #require(rename("\(fixture.original("hello"))", "\(fixture.path("folder/a"))") == 0)
    }
  }

  @Test(
    "Before the rename, the asset stays",
    arguments: [
      ManifestFact.Return.Action.renamed, .copied,
    ])
  func before(action: ManifestFact.Return.Action) throws {
    let begun = try Begun(action)
    if action == .copied { try begun.place().writeDurably([1, 2], as: begun.temporary) }
    begun.fixture.close()
    #expect(try begun.fixture.assets() == [begun.asset])
    #expect(try begun.fixture.problems().isEmpty)
    #expect(try filesBelow(begun.fixture.source.path).isEmpty)
    #expect(
      try begun.fixture.library().catalog.manifestPosition
        == begun.fixture.library().manifest.lastSequence)
  }

  @Test("After the rename, mode and time are restored and the asset goes")
  func renamed() throws {
    let begun = try Begun(.renamed)
    let fixture = begun.fixture
    try begun.renameOut()
    try Descriptor.open("a", in: begun.place(), flags: O_RDONLY).setModified(7_000)
    fixture.close()
    #expect(try fixture.assets().isEmpty && fixture.problems().isEmpty)
    let status = try begun.place().status(of: "a")
    #expect(status.permissions == 0o640 && status.identity.modified == begun.asset.modified)
    #expect(try fixture.sighting("folder/a")?.identity == status.identity)
    #expect(try fixture.run().isEmpty)
  }

  @Test("A file that its owner has changed or moved since is the owner's")
  func gone() throws {
    for isChanged in [true, false] {
      let begun = try Begun(.renamed)
      let fixture = begun.fixture
      try begun.renameOut()
      if isChanged {
        try #require(chmod("\(fixture.path("folder/a"))", 0o600) == 0)
        try fixture.write("changed", to: "folder/a")
      } else {
        try fixture.remove("folder/a")
      }
      fixture.close()
      #expect(try fixture.assets().isEmpty && fixture.problems().isEmpty)
      #expect(try fixture.outcomes() == ["folder/a": isChanged ? .imported : .gone])
    }
  }

  @Test("A copy that is whole and in its place is returned")
  func copied() throws {
    let begun = try Begun(.copied)
    try begun.place().writeDurably(Array("hello".utf8), as: "a")
    begun.fixture.close()
    #expect(try begun.fixture.assets().isEmpty && begun.fixture.problems().isEmpty)
    #expect(try begun.fixture.run().isEmpty)
    #expect(try filesBelow(begun.fixture.source.path).keys.map { $0 } == ["folder/a"])
  }

  @Test("A copy whose place another file took meanwhile is given up")
  func taken() throws {
    let begun = try Begun(.copied)
    try begun.place().writeDurably(Array("world".utf8), as: "a")
    try begun.place().writeDurably([1], as: begun.temporary)
    begun.fixture.close()
    #expect(try begun.fixture.assets() == [begun.asset])
    #expect(try filesBelow(begun.fixture.source.path) == ["folder/a": Array("world".utf8)])
  }
}
