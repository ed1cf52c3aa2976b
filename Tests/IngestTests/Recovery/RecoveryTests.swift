import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Manifest
import Originals
import PipelineModel
import Testing

@testable import Ingest

/// States that a kill between two steps leaves behind are made by hand; then the
/// next run must end as one that nothing disturbed.
@Suite("Recovery", .timeLimit(.minutes(2)))
struct RecoveryTests {
  /// What a run that nothing disturbed makes of the same source.
  private func undisturbed(
    _ mode: SourceConfiguration.Mode = .move,
    _ policy: SourceConfiguration.Duplicates = .discard, _ prepare: (Scene) throws -> Void
  ) throws -> LibraryState {
    let scene = try Scene(mode, duplicates: policy)
    try prepare(scene)
    try scene.run()
    return try LibraryState(scene)
  }

  private func prepared(_ scene: Scene) throws {
    try scene.write("hello", to: "a/b.jpg", permissions: 0o640)
    try scene.write("other", to: "c")
  }

  private func incomingName(_ intent: ManifestFact.Intent) -> BytePath {
    BytePath(intent.taking.description)
  }

  private func copyName(_ intent: ManifestFact.Intent) -> BytePath {
    IncomingNames(taking: intent.taking).copy
  }

  /// Step 2 by rename.
  private func renameIn(_ scene: Scene, _ intent: ManifestFact.Intent) throws {
    try scene.folder(of: intent.path).rename(
      intent.path.lastComponent, to: scene.library().incoming, as: incomingName(intent))
  }

  /// Step 2 by copy, perhaps not to its end.
  private func copyIn(
    _ scene: Scene, _ intent: ManifestFact.Intent, _ text: String
  ) throws {
    try scene.library().incoming.writeDurably(Array(text.utf8), as: copyName(intent))
  }

  /// Step 3.
  private func store(_ scene: Scene, _ intent: ManifestFact.Intent, _ text: String) throws {
    let library = try scene.library()
    let name = try #require(
      try library.incoming.entries().map(\.name)
        .first { [incomingName(intent), copyName(intent)].contains($0) })
    let outcomes = try library.originals.put([
      IncomingOriginal(folder: library.incoming, name: name, digest: scene.digest(text))
    ])
    #expect(outcomes == [.stored])
  }

  private func check(
    _ scene: Scene, _ expected: LibraryState, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    scene.close()
    try scene.library()
    // Right after recovery no bytes are lost, wherever they are.
    try scene.run()
    #expect(try LibraryState(scene) == expected, sourceLocation: sourceLocation)
    #expect(try scene.run().isEmpty, sourceLocation: sourceLocation)
    scene.close()
    try scene.library()
    #expect(try LibraryState(scene) == expected, sourceLocation: sourceLocation)
    #expect(scene.report.warnings.isEmpty, sourceLocation: sourceLocation)
  }

  @Test("Killed before anything was taken", arguments: SourceConfiguration.Mode.allCases)
  func intentOnly(mode: SourceConfiguration.Mode) throws {
    let scene = try Scene(mode)
    try prepared(scene)
    _ = try scene.begin("a/b.jpg")
    try check(scene, try undisturbed(mode, .discard, prepared))
  }

  @Test("Killed after the file was renamed into incoming/")
  func renamed() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try renameIn(scene, intent)
    try check(scene, try undisturbed(.move, .discard, prepared))
    let asset = try #require(try scene.assets().first { $0.name == "b.jpg" })
    #expect(asset.path == "a/b.jpg" && asset.modified == intent.identity.modified)
    #expect(try scene.sighting("a/b.jpg")?.state == .imported)
  }

  @Test("A recovery that is asked to stop ends, and the next one completes it")
  func stopped() throws {
    let scene = try Scene()
    try prepared(scene)
    try renameIn(scene, try scene.begin("a/b.jpg"))
    scene.close()
    scene.isStopped = true
    #expect { try scene.library() } throws: { ($0 as? IngestError)?.isStopped == true }
    #expect(scene.report.warnings.isEmpty)
    scene.isStopped = false
    try check(scene, try undisturbed(.move, .discard, prepared))
  }

  @Test("Killed after a renamed file was made read-only")
  func renamedReadOnly() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try renameIn(scene, intent)
    let name = incomingName(intent)
    try #require(chmod("\(scene.layout.incoming.appending(name))", 0o444) == 0)
    try check(scene, try undisturbed(.move, .discard, prepared))
  }

  @Test(
    "Killed while the file was copied, at its beginning, in the middle and at the end",
    arguments: SourceConfiguration.Mode.allCases, ["", "hel", "hello"])
  func copying(mode: SourceConfiguration.Mode, copied: String) throws {
    let scene = try Scene(mode)
    scene.source.take = .copy
    try prepared(scene)
    try copyIn(scene, try scene.begin("a/b.jpg"), copied)
    try check(scene, try undisturbed(mode, .discard, prepared))
  }

  @Test("Killed after a whole copy, and the source has gone since: the copy is the only one")
  func sourceGone() throws {
    let scene = try Scene(.copy)
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try copyIn(scene, intent, "hello")
    let copy = scene.layout.incoming.appending(copyName(intent))
    try #require(chmod(copy.description, 0o444) == 0)
    try scene.remove("a/b.jpg")
    scene.close()
    try scene.run()
    #expect(try scene.assets().map(\.name) == ["b.jpg", "c"])
    #expect(try scene.problems().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("A part of a copy is no original, even if the source has gone since")
  func partSourceGone() throws {
    let scene = try Scene(.copy)
    try prepared(scene)
    try copyIn(scene, try scene.begin("a/b.jpg"), "hel")
    try scene.remove("a/b.jpg")
    scene.close()
    try scene.run()
    #expect(try scene.assets().map(\.name) == ["c"])
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("A copy that was not flushed is no original, even if the source has gone since")
  func unflushedSourceGone() throws {
    let scene = try Scene(.copy)
    try prepared(scene)
    // As large as the source, and writable: after a power loss its bytes may be zeros.
    try copyIn(scene, try scene.begin("a/b.jpg"), "\0\0\0\0\0")
    try scene.remove("a/b.jpg")
    scene.close()
    try scene.run()
    #expect(try scene.assets().map(\.name) == ["c"])
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test("Killed after a renamed file became an original that nothing refers to")
  func storedByRename() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try renameIn(scene, intent)
    try store(scene, intent, "hello")
    try check(scene, try undisturbed(.move, .discard, prepared))
  }

  @Test(
    "Killed after a copy became an original that nothing refers to",
    arguments: SourceConfiguration.Mode.allCases)
  func storedByCopy(mode: SourceConfiguration.Mode) throws {
    let scene = try Scene(mode)
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try copyIn(scene, intent, "hello")
    try store(scene, intent, "hello")
    try check(scene, try undisturbed(mode, .discard, prepared))
  }

  @Test(
    "Killed after the manifest had the asset and before the catalog did",
    arguments: SourceConfiguration.Mode.allCases, [true, false])
  func factWithoutRecord(mode: SourceConfiguration.Mode, byRename: Bool) throws {
    // A copied source is never renamed.
    if mode == .copy && byRename { return }
    let scene = try Scene(mode)
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    if byRename { try renameIn(scene, intent) } else { try copyIn(scene, intent, "hello") }
    try store(scene, intent, "hello")
    let asset = try scene.library().ids.next()
    try scene.library().manifest.append([
      .stored(
        .init(asset: asset, digest: scene.digest("hello"), intent: intent, supersedes: nil))
    ])
    try check(scene, try undisturbed(mode, .discard, prepared))
    #expect(try scene.assets().contains { $0.id == asset && $0.name == "b.jpg" })
  }

  @Test("Killed while two equal files of one group were in incoming/")
  func equalFiles() throws {
    func prepare(_ scene: Scene) throws {
      for name: BytePath in ["a", "b"] { try scene.write("same", to: name) }
    }
    for policy in SourceConfiguration.Duplicates.allCases {
      let scene = try Scene(duplicates: policy)
      try prepare(scene)
      for name: BytePath in ["a", "b"] { try renameIn(scene, try scene.begin(name)) }
      try check(scene, try undisturbed(.move, policy, prepare))
    }
  }

  @Test(
    "Killed while a duplicate was in incoming/, its policy is followed all the same",
    arguments: SourceConfiguration.Duplicates.allCases)
  func duplicate(policy: SourceConfiguration.Duplicates) throws {
    func prepare(_ scene: Scene) throws {
      try scene.write("hello", to: "first")
      try scene.run()
      try scene.write("hello", to: "second", permissions: 0o640)
    }
    let scene = try Scene(duplicates: policy)
    try prepare(scene)
    try renameIn(scene, try scene.begin("second"))
    try check(scene, try undisturbed(.move, policy, prepare))
  }

  @Test("Killed after a duplicate was moved to duplicates/ and before the manifest had it")
  func filed() throws {
    func prepare(_ scene: Scene) throws {
      try scene.write("hello", to: "first")
      try scene.run()
      try scene.write("hello", to: "second")
    }
    let scene = try Scene(duplicates: .file)
    try prepare(scene)
    let intent = try scene.begin("second")
    let root = try Descriptor.openFolder(scene.layout.root)
    try root.makeFolder("duplicates")
    let duplicates = try Descriptor.openFolder("duplicates", in: root)
    try duplicates.makeFolder(incomingName(intent))
    try scene.folder(of: "second").rename(
      "second", to: try Descriptor.openFolder(incomingName(intent), in: duplicates), as: "second")
    try check(scene, try undisturbed(.move, .file, prepare))
    #expect(try scene.sighting("second")?.state == .duplicate)
  }

  @Test("Killed after everything was recorded and before the source was removed")
  func awaitingRemoval() throws {
    let scene = try Scene()
    try prepared(scene)
    try awaitRemoval(scene)
    try check(scene, try undisturbed(.move, .discard, prepared))
  }

  @Test("A source that awaits removal while its original is damaged is not lost but heals it")
  func awaitingRemovalOfOnlyCopy() throws {
    let scene = try Scene()
    try prepared(scene)
    try awaitRemoval(scene)
    scene.close()
    try scene.spoil("hello")
    let outcome = try #require(try scene.outcomes()["a/b.jpg"])
    #expect([.duplicate, .imported].contains(outcome))
    let originals = try filesBelow(scene.layout.originals)
    #expect(originals.values.contains(Array("hello".utf8)) && originals.count == 2)
    #expect(!scene.exists("a/b.jpg"))
    #expect(try scene.problems().isEmpty)
  }

  /// All but step 5, by copy.
  private func awaitRemoval(_ scene: Scene) throws {
    let intent = try scene.begin("a/b.jpg")
    try copyIn(scene, intent, "hello")
    try store(scene, intent, "hello")
    let stored = ManifestFact.Stored(
      asset: try scene.library().ids.next(), digest: scene.digest("hello"), intent: intent,
      supersedes: nil)
    let position = try scene.library().manifest.append([.stored(stored)])
    try scene.library().catalog.apply(
      [
        .asset(NewAsset(stored, importedAt: .now)),
        .sighting(
          Sighting(
            source: scene.source.path, path: intent.path, state: .imported,
            identity: intent.identity, asset: stored.asset, seenAt: .now, awaitsRemoval: true)),
      ], manifestPosition: position)
  }

  @Test("A source that changed after its bytes were safe is not removed but taken anew")
  func changedMeanwhile() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try copyIn(scene, intent, "hello")
    try store(scene, intent, "hello")
    try scene.library().manifest.append([
      .stored(
        .init(
          asset: try scene.library().ids.next(), digest: scene.digest("hello"), intent: intent,
          supersedes: nil))
    ])
    scene.close()
    try scene.write("changed", to: "a/b.jpg")
    #expect(try scene.outcomes()["a/b.jpg"] == .imported)
    #expect(try scene.assets().filter { $0.name == "b.jpg" }.count == 2)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A renamed file that was changed before the kill is given back")
  func changedInIncoming() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try renameIn(scene, intent)
    let path = scene.layout.incoming.appending(incomingName(intent))
    try Descriptor.open(path, flags: O_WRONLY | O_APPEND).write([0x21])
    scene.close()
    try scene.library()
    #expect(try filesBelow(scene.source.path)["a/b.jpg"] == Array("hello!".utf8))
    #expect(try scene.folder(of: intent.path).status(of: "b.jpg").permissions == 0o640)
    #expect(try scene.outcomes()["a/b.jpg"] == .imported)
  }

  @Test("If its place is taken by then, nothing is replaced and the user is told")
  func placeTaken() throws {
    let scene = try Scene()
    try prepared(scene)
    let intent = try scene.begin("a/b.jpg")
    try renameIn(scene, intent)
    let path = scene.layout.incoming.appending(incomingName(intent))
    try Descriptor.open(path, flags: O_WRONLY | O_APPEND).write([0x21])
    try scene.write("newcomer", to: "a/b.jpg")
    scene.close()
    try scene.library()
    #expect(try filesBelow(scene.source.path)["a/b.jpg"] == Array("newcomer".utf8))
    #expect(try filesBelow(scene.source.path)["a/b.jpg.returned-1"] == Array("hello!".utf8))
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    #expect(scene.report.warnings.contains { $0.contains("put back as") })
  }

  @Test("Files in incoming/ that belong to nothing are left, unless their bytes are stored")
  func leftovers() throws {
    let scene = try Scene()
    try prepared(scene)
    try scene.run()
    let incoming = try scene.library().incoming
    try incoming.writeDurably(Array("hello".utf8), as: "stored")
    try incoming.writeDurably(Array("who knows".utf8), as: "unknown")
    try incoming.writeDurably(Array("hel".utf8), as: "x.copy")
    scene.close()
    try scene.library()
    // Whatever the names of the others say.
    #expect(try filesBelow(scene.layout.incoming).keys.sorted() == ["unknown", "x.copy"])
    #expect(scene.report.warnings.count == 2)
  }

  @Test("One file in incoming/ that can't be read holds up no other, and is seen to later")
  func unreadable() throws {
    let scene = try Scene()
    try prepared(scene)
    let taken = [try scene.begin("a/b.jpg"), try scene.begin("c")]
    for intent in taken { try renameIn(scene, intent) }
    let (name, aside) = (incomingName(taken[0]), BytePath("aside"))
    let incoming = try scene.library().incoming
    try incoming.rename(name, to: try Descriptor.openFolder(scene.temporary.path), as: aside)
    try incoming.makeFolder(name)
    scene.close()
    for round in 1...2 {
      try scene.write("new \(round)", to: BytePath("new\(round)"))
      #expect(try scene.outcomes() == [BytePath("new\(round)"): .imported])
      #expect(scene.report.warnings.count == round)
      #expect(Set(try scene.assets().map(\.name)).isSuperset(of: ["c", "new1"]))
      scene.close()
    }
    try #require(rmdir("\(scene.layout.incoming.appending(name))") == 0)
    try Descriptor.openFolder(scene.temporary.path).rename(
      aside, to: try Descriptor.openFolder(scene.layout.incoming), as: name)
    try scene.library()
    #expect(scene.report.warnings.count == 2)
    #expect(try scene.assets().count { $0.path == "a/b.jpg" } == 1)
    #expect(try scene.assets().count == 4)
    #expect(try LibraryState(scene).incoming.isEmpty && LibraryState(scene).problems.isEmpty)
  }

  @Test("A catalog that knows more than the manifest is refused")
  func manifestCut() throws {
    let scene = try Scene()
    try prepared(scene)
    try scene.run()
    scene.close()
    let folder = try Descriptor.openFolder(scene.layout.manifest)
    let bytes = try folder.readFile("0001.jsonl")
    let first = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
    try folder.writeDurably(Array(bytes[...first]), as: "0001.jsonl")
    let error = try #require(throws: IngestError.self) { try scene.library() }
    #expect(error.code == .catalog && error.message.contains("rebuild-catalog"))
  }
}
