import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Manifest
import Originals
import PipelineModel
import Records
import Testing

@testable import Ingest

/// States that a kill between two steps leaves behind are made by hand; then the
/// next run must end as one that nothing disturbed.
@Suite("Recovery", .timeLimit(.minutes(2)))
struct RecoveryTests {
  /// What a run that nothing disturbed makes of the same source.
  private func undisturbed(
    _ mode: SourceConfiguration.Mode = .move,
    _ policy: SourceConfiguration.Duplicates = .discard, _ prepare: (IngestFixture) throws -> Void
  ) throws -> LibraryState {
    let fixture = try IngestFixture(mode, duplicates: policy)
    try prepare(fixture)
    try fixture.run()
    return try LibraryState(fixture)
  }

  private func prepared(_ fixture: IngestFixture) throws {
    try fixture.write("hello", to: "a/b.jpg", permissions: 0o640)
    try fixture.write("other", to: "c")
  }

  private func incomingName(_ intent: ManifestFact.Intent) -> BytePath {
    BytePath(intent.taking.description)
  }

  private func copyName(_ intent: ManifestFact.Intent) -> BytePath {
    IncomingNames(taking: intent.taking).copy
  }

  /// Step 2 by rename.
  private func renameIn(_ fixture: IngestFixture, _ intent: ManifestFact.Intent) throws {
    try fixture.folder(of: intent.path).rename(
      intent.path.lastComponent, to: fixture.library().incoming, as: incomingName(intent))
  }

  /// Step 2 by copy, perhaps not to its end.
  private func copyIn(
    _ fixture: IngestFixture, _ intent: ManifestFact.Intent, _ text: String
  ) throws {
    try fixture.library().incoming.writeDurably(Array(text.utf8), as: copyName(intent))
  }

  /// Step 3.
  private func store(_ fixture: IngestFixture, _ intent: ManifestFact.Intent, _ text: String) throws
  {
    let library = try fixture.library()
    let name = try #require(
      try library.incoming.entries().map(\.name)
        .first { [incomingName(intent), copyName(intent)].contains($0) })
    let outcomes = try library.originals.put([
      IncomingOriginal(folder: library.incoming, name: name, digest: fixture.digest(text))
    ])
    #expect(outcomes == [.stored])
  }

  private func check(
    _ fixture: IngestFixture, _ expected: LibraryState,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    fixture.close()
    try fixture.library()
    // Right after recovery no bytes are lost, wherever they are.
    try fixture.run()
    #expect(try LibraryState(fixture) == expected, sourceLocation: sourceLocation)
    #expect(try fixture.run().isEmpty, sourceLocation: sourceLocation)
    fixture.close()
    try fixture.library()
    #expect(try LibraryState(fixture) == expected, sourceLocation: sourceLocation)
    #expect(fixture.report.warnings.isEmpty, sourceLocation: sourceLocation)
  }

  @Test("Killed before anything was taken", arguments: SourceConfiguration.Mode.allCases)
  func intentOnly(mode: SourceConfiguration.Mode) throws {
    let fixture = try IngestFixture(mode)
    try prepared(fixture)
    _ = try fixture.begin("a/b.jpg")
    try check(fixture, try undisturbed(mode, .discard, prepared))
  }

  @Test("Killed after the file was renamed into incoming/")
  func renamed() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try renameIn(fixture, intent)
    try check(fixture, try undisturbed(.move, .discard, prepared))
    let asset = try #require(try fixture.assets().first { $0.name == "b.jpg" })
    #expect(asset.path == "a/b.jpg" && asset.modified == intent.identity.modified)
    #expect(try fixture.sighting("a/b.jpg")?.state == .imported)
  }

  @Test("A recovery that is asked to stop ends, and the next one completes it")
  func stopped() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    try renameIn(fixture, try fixture.begin("a/b.jpg"))
    fixture.close()
    fixture.isStopped = true
    #expect { try fixture.library() } throws: { ($0 as? FileError)?.code == .stopped }
    #expect(fixture.report.warnings.isEmpty)
    fixture.isStopped = false
    try check(fixture, try undisturbed(.move, .discard, prepared))
  }

  @Test("Killed after a renamed file was made read-only")
  func renamedReadOnly() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try renameIn(fixture, intent)
    let name = incomingName(intent)
    try #require(chmod("\(fixture.layout.incoming.appending(name))", 0o444) == 0)
    try check(fixture, try undisturbed(.move, .discard, prepared))
  }

  @Test(
    "Killed while the file was copied, at its beginning, in the middle and at the end",
    arguments: SourceConfiguration.Mode.allCases, ["", "hel", "hello"])
  func copying(mode: SourceConfiguration.Mode, copied: String) throws {
    let fixture = try IngestFixture(mode)
    fixture.source.take = .copy
    try prepared(fixture)
    try copyIn(fixture, try fixture.begin("a/b.jpg"), copied)
    try check(fixture, try undisturbed(mode, .discard, prepared))
  }

  @Test("Killed after a whole copy, and the source has gone since: the copy is the only one")
  func sourceGone() throws {
    let fixture = try IngestFixture(.copy)
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try copyIn(fixture, intent, "hello")
    let copy = fixture.layout.incoming.appending(copyName(intent))
    try #require(chmod(copy.description, 0o444) == 0)
    try fixture.remove("a/b.jpg")
    fixture.close()
    try fixture.run()
    #expect(try fixture.assets().map(\.name) == ["b.jpg", "c"])
    #expect(try fixture.problems().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("A part of a copy is no original, even if the source has gone since")
  func partSourceGone() throws {
    let fixture = try IngestFixture(.copy)
    try prepared(fixture)
    try copyIn(fixture, try fixture.begin("a/b.jpg"), "hel")
    try fixture.remove("a/b.jpg")
    fixture.close()
    try fixture.run()
    #expect(try fixture.assets().map(\.name) == ["c"])
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("A copy that was not flushed is no original, even if the source has gone since")
  func unflushedSourceGone() throws {
    let fixture = try IngestFixture(.copy)
    try prepared(fixture)
    // As large as the source, and writable: after a power loss its bytes may be zeros.
    try copyIn(fixture, try fixture.begin("a/b.jpg"), "\0\0\0\0\0")
    try fixture.remove("a/b.jpg")
    fixture.close()
    try fixture.run()
    #expect(try fixture.assets().map(\.name) == ["c"])
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("Killed after a renamed file became an original that nothing refers to")
  func storedByRename() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try renameIn(fixture, intent)
    try store(fixture, intent, "hello")
    try check(fixture, try undisturbed(.move, .discard, prepared))
  }

  @Test(
    "Killed after a copy became an original that nothing refers to",
    arguments: SourceConfiguration.Mode.allCases)
  func storedByCopy(mode: SourceConfiguration.Mode) throws {
    let fixture = try IngestFixture(mode)
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try copyIn(fixture, intent, "hello")
    try store(fixture, intent, "hello")
    try check(fixture, try undisturbed(mode, .discard, prepared))
  }

  @Test(
    "Killed after the manifest had the asset and before the catalog did",
    arguments: SourceConfiguration.Mode.allCases, [true, false])
  func factWithoutRecord(mode: SourceConfiguration.Mode, byRename: Bool) throws {
    // A copied source is never renamed.
    if mode == .copy && byRename { return }
    let fixture = try IngestFixture(mode)
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    if byRename { try renameIn(fixture, intent) } else { try copyIn(fixture, intent, "hello") }
    try store(fixture, intent, "hello")
    let asset = try fixture.library().ids.next()
    try fixture.library().manifest.append([
      .stored(
        .init(asset: asset, digest: fixture.digest("hello"), intent: intent, supersedes: nil))
    ])
    try check(fixture, try undisturbed(mode, .discard, prepared))
    #expect(try fixture.assets().contains { $0.id == asset && $0.name == "b.jpg" })
  }

  @Test("Killed while two equal files of one group were in incoming/")
  func equalFiles() throws {
    func prepare(_ fixture: IngestFixture) throws {
      for name: BytePath in ["a", "b"] { try fixture.write("same", to: name) }
    }
    for policy in SourceConfiguration.Duplicates.allCases {
      let fixture = try IngestFixture(duplicates: policy)
      try prepare(fixture)
      for name: BytePath in ["a", "b"] { try renameIn(fixture, try fixture.begin(name)) }
      try check(fixture, try undisturbed(.move, policy, prepare))
    }
  }

  @Test(
    "Killed while a duplicate was in incoming/, its policy is followed all the same",
    arguments: SourceConfiguration.Duplicates.allCases)
  func duplicate(policy: SourceConfiguration.Duplicates) throws {
    func prepare(_ fixture: IngestFixture) throws {
      try fixture.write("hello", to: "first")
      try fixture.run()
      try fixture.write("hello", to: "second", permissions: 0o640)
    }
    let fixture = try IngestFixture(duplicates: policy)
    try prepare(fixture)
    try renameIn(fixture, try fixture.begin("second"))
    try check(fixture, try undisturbed(.move, policy, prepare))
  }

  @Test("Killed after a duplicate was moved to duplicates/ and before the manifest had it")
  func filed() throws {
    func prepare(_ fixture: IngestFixture) throws {
      try fixture.write("hello", to: "first")
      try fixture.run()
      try fixture.write("hello", to: "second")
    }
    let fixture = try IngestFixture(duplicates: .file)
    try prepare(fixture)
    let intent = try fixture.begin("second")
    let root = try Descriptor.openFolder(fixture.layout.root)
    try root.makeFolder("duplicates")
    let duplicates = try Descriptor.openFolder("duplicates", in: root)
    try duplicates.makeFolder(incomingName(intent))
    try fixture.folder(of: "second").rename(
      "second", to: try Descriptor.openFolder(incomingName(intent), in: duplicates), as: "second")
    try check(fixture, try undisturbed(.move, .file, prepare))
    #expect(try fixture.sighting("second")?.state == .duplicate)
  }

  @Test("Killed after everything was recorded and before the source was removed")
  func awaitingRemoval() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    try awaitRemoval(fixture)
    try check(fixture, try undisturbed(.move, .discard, prepared))
  }

  @Test("A source that awaits removal while its original is damaged is not lost but heals it")
  func awaitingRemovalOfOnlyCopy() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    try awaitRemoval(fixture)
    fixture.close()
    try fixture.spoil("hello")
    let outcome = try #require(try fixture.outcomes()["a/b.jpg"])
    #expect([.duplicate, .imported].contains(outcome))
    let originals = try filesBelow(fixture.layout.originals)
    #expect(originals.values.contains(Array("hello".utf8)) && originals.count == 2)
    #expect(!fixture.exists("a/b.jpg"))
    #expect(try fixture.problems().isEmpty)
  }

  /// All but step 5, by copy.
  private func awaitRemoval(_ fixture: IngestFixture) throws {
    let intent = try fixture.begin("a/b.jpg")
    try copyIn(fixture, intent, "hello")
    try store(fixture, intent, "hello")
    let stored = ManifestFact.Stored(
      asset: try fixture.library().ids.next(), digest: fixture.digest("hello"), intent: intent,
      supersedes: nil)
    let position = try fixture.library().manifest.append([.stored(stored)])
    try fixture.library().catalog.apply(
      [
        .asset(NewAsset(stored, importedAt: .now)),
        .sighting(
          Sighting(
            source: fixture.source.path, path: intent.path, state: .imported,
            identity: intent.identity, asset: stored.asset, seenAt: .now, awaitsRemoval: true)),
      ], manifestPosition: position)
  }

  @Test("A source that changed after its bytes were safe is not removed but taken anew")
  func changedMeanwhile() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try copyIn(fixture, intent, "hello")
    try store(fixture, intent, "hello")
    try fixture.library().manifest.append([
      .stored(
        .init(
          asset: try fixture.library().ids.next(), digest: fixture.digest("hello"), intent: intent,
          supersedes: nil))
    ])
    fixture.close()
    try fixture.write("changed", to: "a/b.jpg")
    #expect(try fixture.outcomes()["a/b.jpg"] == .imported)
    #expect(try fixture.assets().filter { $0.name == "b.jpg" }.count == 2)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A renamed file that was changed before the kill is given back")
  func changedInIncoming() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try renameIn(fixture, intent)
    let path = fixture.layout.incoming.appending(incomingName(intent))
    try Descriptor.open(path, flags: O_WRONLY | O_APPEND).write([0x21])
    fixture.close()
    try fixture.library()
    #expect(try filesBelow(fixture.source.path)["a/b.jpg"] == Array("hello!".utf8))
    #expect(try fixture.folder(of: intent.path).status(of: "b.jpg").permissions == 0o640)
    #expect(try fixture.outcomes()["a/b.jpg"] == .imported)
  }

  @Test("If its place is taken by then, nothing is replaced and the user is told")
  func placeTaken() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let intent = try fixture.begin("a/b.jpg")
    try renameIn(fixture, intent)
    let path = fixture.layout.incoming.appending(incomingName(intent))
    try Descriptor.open(path, flags: O_WRONLY | O_APPEND).write([0x21])
    try fixture.write("newcomer", to: "a/b.jpg")
    fixture.close()
    try fixture.library()
    #expect(try filesBelow(fixture.source.path)["a/b.jpg"] == Array("newcomer".utf8))
    #expect(try filesBelow(fixture.source.path)["a/b.jpg.returned-1"] == Array("hello!".utf8))
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    #expect(fixture.report.warnings.contains { $0.contains("put back as") })
  }

  @Test("Files in incoming/ that belong to nothing are left, unless their bytes are stored")
  func leftovers() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    try fixture.run()
    let incoming = try fixture.library().incoming
    try incoming.writeDurably(Array("hello".utf8), as: "stored")
    try incoming.writeDurably(Array("who knows".utf8), as: "unknown")
    try incoming.writeDurably(Array("hel".utf8), as: "x.copy")
    fixture.close()
    try fixture.library()
    // Whatever the names of the others say.
    #expect(try filesBelow(fixture.layout.incoming).keys.sorted() == ["unknown", "x.copy"])
    #expect(fixture.report.warnings.count == 2)
  }

  @Test("One file in incoming/ that can't be read holds up no other, and is seen to later")
  func unreadable() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    let taken = [try fixture.begin("a/b.jpg"), try fixture.begin("c")]
    for intent in taken { try renameIn(fixture, intent) }
    let (name, aside) = (incomingName(taken[0]), BytePath("aside"))
    let incoming = try fixture.library().incoming
    try incoming.rename(name, to: try Descriptor.openFolder(fixture.temporary.path), as: aside)
    try incoming.makeFolder(name)
    fixture.close()
    for round in 1...2 {
      try fixture.write("new \(round)", to: BytePath("new\(round)"))
      #expect(try fixture.outcomes() == [BytePath("new\(round)"): .imported])
      #expect(fixture.report.warnings.count == round)
      #expect(Set(try fixture.assets().map(\.name)).isSuperset(of: ["c", "new1"]))
      fixture.close()
    }
    try #require(rmdir("\(fixture.layout.incoming.appending(name))") == 0)
    try Descriptor.openFolder(fixture.temporary.path).rename(
      aside, to: try Descriptor.openFolder(fixture.layout.incoming), as: name)
    try fixture.library()
    #expect(fixture.report.warnings.count == 2)
    #expect(try fixture.assets().count { $0.path == "a/b.jpg" } == 1)
    #expect(try fixture.assets().count == 4)
    #expect(try LibraryState(fixture).incoming.isEmpty && LibraryState(fixture).problems.isEmpty)
  }

  @Test("A catalog that knows more than the manifest is refused")
  func manifestCut() throws {
    let fixture = try IngestFixture()
    try prepared(fixture)
    try fixture.run()
    fixture.close()
    let folder = try Descriptor.openFolder(fixture.layout.manifest)
    let bytes = try folder.readFile("0001.jsonl")
    let first = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
    try folder.writeDurably(Array(bytes[...first]), as: "0001.jsonl")
    let error = try #require(throws: IngestError.self) { try fixture.library() }
    #expect(error.code == .catalog && error.message.contains("rebuild-catalog"))
  }
}
