import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@Suite("A giving back that was interrupted", .timeLimit(.minutes(1)))
struct ReturnRecoveryTests {
  /// A library with one asset, of which the giving back was begun.
  private struct Begun {
    let scene: Scene
    let asset: AssetRecord
    let back: ManifestFact.Return

    init(_ action: ManifestFact.Return.Action) throws {
      scene = try Scene()
      try scene.write("hello", to: "folder/a", permissions: 0o640)
      try scene.recordedRun()
      asset = try #require(try scene.assets().first)
      let library = try scene.library()
      var identity = try FileSystem.status(of: scene.original("hello")).identity
      identity.modified = asset.modified
      back = ManifestFact.Return(
        asset: asset.id, digest: asset.digest, action: action,
        place: .init(
          taking: library.ids.next(), source: asset.source, path: asset.path, identity: identity,
          permissions: 0o640, moves: true, run: nil))
      try library.manifest.append([.returning(back)])
    }

    func place() throws -> Descriptor { try scene.folder(of: "folder/a") }

    var temporary: BytePath { BytePath(".pipeline-return-\(back.place.taking)") }

    /// As the rename leaves it, before anything else is done.
    func renameOut() throws {
      try #require(rename("\(scene.original("hello"))", "\(scene.path("folder/a"))") == 0)
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
    begun.scene.close()
    #expect(try begun.scene.assets() == [begun.asset])
    #expect(try begun.scene.problems().isEmpty)
    #expect(try filesBelow(begun.scene.source.path).isEmpty)
    #expect(
      try begun.scene.library().catalog.manifestPosition
        == begun.scene.library().manifest.lastSequence)
  }

  @Test("After the rename, mode and time are restored and the asset goes")
  func renamed() throws {
    let begun = try Begun(.renamed)
    let scene = begun.scene
    try begun.renameOut()
    try Descriptor.open("a", in: begun.place(), flags: O_RDONLY).setModified(7_000)
    scene.close()
    #expect(try scene.assets().isEmpty && scene.problems().isEmpty)
    let status = try begun.place().status(of: "a")
    #expect(status.permissions == 0o640 && status.identity.modified == begun.asset.modified)
    #expect(try scene.sighting("folder/a")?.identity == status.identity)
    #expect(try scene.run().isEmpty)
  }

  @Test("A file that its owner has changed or moved since is the owner's")
  func gone() throws {
    for isChanged in [true, false] {
      let begun = try Begun(.renamed)
      let scene = begun.scene
      try begun.renameOut()
      if isChanged {
        try #require(chmod("\(scene.path("folder/a"))", 0o600) == 0)
        try scene.write("changed", to: "folder/a")
      } else {
        try scene.remove("folder/a")
      }
      scene.close()
      #expect(try scene.assets().isEmpty && scene.problems().isEmpty)
      #expect(try scene.outcomes() == ["folder/a": isChanged ? .imported : .gone])
    }
  }

  @Test("A copy that is whole and in its place is returned")
  func copied() throws {
    let begun = try Begun(.copied)
    try begun.place().writeDurably(Array("hello".utf8), as: "a")
    begun.scene.close()
    #expect(try begun.scene.assets().isEmpty && begun.scene.problems().isEmpty)
    #expect(try begun.scene.run().isEmpty)
    #expect(try filesBelow(begun.scene.source.path).keys.map { $0 } == ["folder/a"])
  }

  @Test("A copy whose place another file took meanwhile is given up")
  func taken() throws {
    let begun = try Begun(.copied)
    try begun.place().writeDurably(Array("world".utf8), as: "a")
    try begun.place().writeDurably([1], as: begun.temporary)
    begun.scene.close()
    #expect(try begun.scene.assets() == [begun.asset])
    #expect(try filesBelow(begun.scene.source.path) == ["folder/a": Array("world".utf8)])
  }
}
