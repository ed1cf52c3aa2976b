import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

@Suite("Garbage and repair", .timeLimit(.minutes(1)))
struct GarbageTests {
  private func fixture() throws -> IngestFixture {
    let fixture = try IngestFixture(duplicates: .asset)
    for (name, text) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")] {
      try fixture.write(text, to: BytePath(name))
      try fixture.run()
    }
    return fixture
  }

  private func collect(_ fixture: IngestFixture) throws -> Garbage {
    let library = try fixture.library()
    let preview = try GarbageCollection.preview(
      library: LibraryFolder.open(fixture.layout), catalog: library.reader)
    let garbage = try GarbageCollection(library: library, report: fixture.report).run { false }
    #expect(preview == garbage)
    return garbage
  }

  @Test("Only an original that was deleted for good, and that nobody has, goes")
  func originals() throws {
    let fixture = try fixture()
    #expect(try collect(fixture) == Garbage())
    let assets = try fixture.assets()
    try fixture.purge([assets[0].id, assets[2].id])
    var expected = Garbage()
    expected.originals = 1
    expected.originalBytes = 3
    #expect(try collect(fixture) == expected)
    #expect(
      try Set(
        filesBelow(fixture.layout.originals).values.map { String(decoding: $0, as: UTF8.self) })
        == ["one", "three"])
    #expect(try collect(fixture) == Garbage() && fixture.problems().isEmpty)
    // The same bytes may come again.
    try fixture.write("two", to: "c")
    #expect(try fixture.outcomes() == ["c": .imported])
    #expect(try collect(fixture) == Garbage() && fixture.problems().isEmpty)
  }

  @Test("An original that no fact deleted stays, and is a problem")
  func unrecorded() throws {
    let fixture = try fixture()
    let digest = fixture.digest("unknown")
    let folder = try Descriptor.openFolder(fixture.layout.originals)
    try folder.makeFolder(BytePath(String(digest.hex.prefix(2))))
    try Descriptor.openFolder(fixture.original("unknown").parent).writeDurably(
      Array("unknown".utf8), as: BytePath(digest.hex), mode: 0o444)
    fixture.close()
    let problems = try fixture.problems(unlocked: true)
    #expect(problems.map(\.kind) == [.originalUnrecorded])
    #expect(try collect(fixture) == Garbage())
    #expect(try filesBelow(fixture.layout.originals).count == 4)
  }

  @Test("An asset that the catalog has lost keeps its original")
  func lostRow() throws {
    let fixture = try fixture()
    let asset = try fixture.assets()[2]
    // A deletion of another asset with the same bytes, and a catalog without either.
    let library = try fixture.library()
    let fact = try library.manifest.append([
      .purged(asset: library.ids.next(), digest: asset.digest)
    ])
    try library.catalog.apply([.purged(asset.id, sequence: fact)], manifestPosition: 0)
    #expect(try library.reader.deletions(after: 0, limit: 9).map(\.sequence) == [fact])
    #expect(try collect(fixture) == Garbage())
    #expect(try library.reader.deletions(after: 0, limit: 9).isEmpty)
    #expect(try filesBelow(fixture.layout.originals).count == 3)
  }

  /// The facts of the originals that the catalog lists as deleted.
  private func deletions(_ fixture: IngestFixture) throws -> [Int64] {
    try fixture.library().reader.deletions(after: 0, limit: 9).map(\.sequence)
  }

  /// Leaves the catalog as an older version has kept it.
  private func forgetDeletions(_ fixture: IngestFixture) throws {
    try fixture.library().catalog.write { (writer) throws(CatalogError) in
      try writer.connection.execute("DELETE FROM deletion")
      try writer.connection.execute("DELETE FROM setting WHERE key = ?", Setting.deletions)
    }
    fixture.close()
  }

  @Test("An original is removed without a look at what the manifest says before its deletion")
  func boundedReading() throws {
    let fixture = try fixture()
    let asset = try fixture.assets()[2]
    fixture.close()
    let folder = try Descriptor.openFolder(fixture.layout.manifest)
    // Behind a torn line a new segment begins.
    var first = try folder.readFile("0001.jsonl")
    try folder.writeDurably(first + Array("torn".utf8), as: "0001.jsonl")
    try fixture.purge([asset.id])
    first[100] ^= 1
    try folder.writeDurably(first, as: "0001.jsonl")
    var expected = Garbage()
    expected.originals = 1
    expected.originalBytes = 3
    #expect(try collect(fixture) == expected)
  }

  @Test("Bytes that come again are no garbage, and are deleted anew")
  func comeAgain() throws {
    let fixture = try fixture()
    try fixture.purge([try fixture.assets()[2].id])
    #expect(try deletions(fixture).count == 1)
    try fixture.write("two", to: "again")
    try fixture.run()
    #expect(try deletions(fixture).isEmpty)
    #expect(try collect(fixture) == Garbage())
    let again = try #require(try fixture.assets().last)
    try fixture.purge([again.id])
    // The last fact of all.
    #expect(try deletions(fixture) == [fixture.library().manifest.lastSequence])
    #expect(try collect(fixture).originals == 1)
  }

  @Test("A list that a fact contradicts is not believed")
  func contradicted() throws {
    let fixture = try fixture()
    let asset = try fixture.assets()[2]
    try fixture.purge([asset.id])
    let listed = try deletions(fixture)
    // Another asset of these bytes, of which the catalog knows nothing.
    let library = try fixture.library()
    let intent = ManifestFact.Intent(
      taking: library.ids.next(), source: asset.source, path: "again",
      identity: FileIdentity(inode: 1, size: 3, modified: 1, changed: 1), permissions: 0o644,
      moves: true, run: nil)
    let stored = ManifestFact.Stored(
      asset: library.ids.next(), digest: asset.digest, intent: intent, supersedes: nil)
    try library.manifest.append([.stored(stored)])
    #expect(try deletions(fixture) == listed)
    #expect(try collect(fixture) == Garbage())
    #expect(try filesBelow(fixture.layout.originals).count == 3)
  }

  @Test("A rebuilt catalog lists the same deletions, and so does one that an older version kept")
  func sameList() throws {
    let fixture = try fixture()
    let assets = try fixture.assets()
    try fixture.purge([assets[2].id])
    try fixture.purge([assets[0].id, assets[1].id])
    let expected = try deletions(fixture)
    #expect(expected.count == 2)
    _ = try fixture.rebuild()
    #expect(try deletions(fixture) == expected)
    try forgetDeletions(fixture)
    #expect(try deletions(fixture) == expected)
    #expect(try collect(fixture).originals == 2 && deletions(fixture).isEmpty)
  }

  @Test("While a taking can't be ended, no original is removed")
  func openTaking() throws {
    let fixture = try fixture()
    try fixture.purge([try fixture.assets()[2].id])
    let intent = ManifestFact.Intent(
      taking: try fixture.library().ids.next(), source: fixture.source.path, path: "e",
      identity: FileIdentity(inode: 1, size: 4, modified: 1, changed: 1), permissions: 0o644,
      moves: true, run: nil)
    try fixture.library().manifest.append([.intent(intent)])
    // What is there in its place can't be read.
    let name = BytePath("\(intent.taking)")
    try fixture.library().incoming.makeFolder(name)
    fixture.close()
    #expect(try fixture.library().reader.deletions(after: 0, limit: 9).count == 1)
    #expect(
      try GarbageCollection(library: fixture.library(), report: fixture.report).run { false }
        == Garbage())
    #expect(try filesBelow(fixture.layout.originals).count == 3)
    #expect(fixture.report.warnings.count == 2)
    try fixture.library().incoming.removeFolder(name)
    fixture.close()
    #expect(try collect(fixture).originals == 1)
  }

  @Test("Files of renditions that nobody names go, and folders that are empty then")
  func files() throws {
    let fixture = try fixture()
    let folder = try Descriptor.openFolder(fixture.layout.renditions)
    try folder.makeFolder("old")
    let old = try Descriptor.openFolder("old", in: folder)
    try old.makeFolder("ab")
    try Descriptor.openFolder("ab", in: old).writeDurably([1, 2, 3], as: "ab12.34.grid.jpg")
    var expected = Garbage()
    expected.files = 1
    expected.fileBytes = 3
    #expect(try collect(fixture) == expected)
    #expect(try folder.entries().isEmpty)
  }

  @Test("A file that a job is about to make again while garbage is removed stays")
  func filesMadeAgain() throws {
    let fixture = try fixture()
    let library = try fixture.library()
    let stage = StageDefinition(
      name: "s", plugin: "p", fingerprint: Fingerprint(fixture.digest("stage")),
      isAssetScoped: false, needs: [], attempts: 3, runtime: "1", limits: "{}")
    let digest = fixture.digest("one").hex
    let folder = try Descriptor.openFolder(fixture.layout.renditions)
    let names = ["0", "\(digest).\(stage.fingerprint.short).grid.jpg"].map { BytePath($0) }
    for name in names { try folder.writeDurably([1], as: name) }
    let garbage = try GarbageCollection(library: library, report: fixture.report).run {
      #expect(throws: Never.self) {
        // Both are known to be garbage, and the first one is gone.
        if try folder.statusIfThere(of: names[0]) == nil {
          try library.catalog.configure([stage])
        }
      }
      return false
    }
    #expect(garbage.files == 1)
    #expect(try folder.entries().map(\.name) == [names[1]])
  }

  @Test("Bytes that a file was let go for after a deletion are no garbage")
  func reliedUpon() throws {
    let fixture = try fixture()
    let asset = try fixture.assets()[3]
    try breakOff(fixture, asset)
    #expect(try collect(fixture) == Garbage())
    fixture.close()
    #expect(try fixture.problems(unlocked: true).map(\.kind) == [.catalogDiffers])
    _ = try fixture.rebuild()
    #expect(try fixture.assets().count == 3)
    #expect(try collect(fixture) == Garbage())
    #expect(try filesBelow(fixture.layout.originals).count == 3)
  }

  /// Leaves the manifest and the catalog as a commit does that failed between the two.
  private func breakOff(_ fixture: IngestFixture, _ asset: AssetRecord) throws {
    let library = try fixture.library()
    let intent = ManifestFact.Intent(
      taking: library.ids.next(), source: asset.source, path: "again",
      identity: FileIdentity(inode: 1, size: 5, modified: 1, changed: 1), permissions: 0o644,
      moves: true, run: nil)
    try library.manifest.append([.purged(asset: asset.id, digest: asset.digest)])
    #expect(try library.isBehind())
    try library.manifest.append([
      .duplicate(
        .init(asset: asset.id, digest: asset.digest, action: .discarded, intent: intent))
    ])
    try library.catalog.apply([], manifestPosition: library.manifest.lastSequence)
    #expect(try !library.isBehind())
  }

  @Test("A damaged original is put aside once it was read again, and an import heals it")
  func repair() throws {
    let fixture = try fixture()
    try fixture.spoil("two")
    let problems = try fixture.problems()
    #expect(problems.map(\.kind) == [.originalDamaged])
    let repair = Repair(library: try fixture.library(), report: fixture.report)
    // What is whole by now is left alone.
    var stale = problems[0]
    stale.digest = fixture.digest("one")
    var result = RepairResult()
    result.repaired = 1
    #expect(try repair.repair([stale]) == result)
    result = RepairResult()
    result.setAside = 1
    #expect(try repair.repair(problems) == result)
    #expect(try repair.repair(problems) == RepairResult())
    #expect(try filesBelow(fixture.layout.damaged).values.map { $0 } == [Array("spoiled".utf8)])
    #expect(try fixture.problems().map(\.kind) == [.originalMissing])
    try fixture.write("two", to: "good")
    fixture.source.duplicates = .keep
    #expect(try fixture.outcomes() == ["good": .duplicate])
    #expect(try fixture.problems().isEmpty && fixture.exists("good"))
  }

  @Test("A verification with a time limit goes on where the last one ended")
  func timeLimit() throws {
    let fixture = try fixture()
    try fixture.spoil("three")
    let library = try LibraryFolder.open(fixture.layout)
    let verification = try Verification(library: library, catalog: fixture.library().reader)
    let place = BytePath("verify.json")
    var problems = 0
    for round in 1...3 {
      let outcome = try verification.run(limit: TimeSpan(milliseconds: 0)) { _ in problems += 1 }
      #expect(outcome.unsaved == nil && outcome.checked == 1)
      #expect(outcome.isComplete == (round == 3))
      #expect(try library.folder.entries().contains { $0.name == place } == (round < 3))
    }
    #expect(problems == 1)
    // One that is stopped leaves its place as well.
    let asked = Atomic(0)
    let stopped = try verification.run(isStopped: {
      // Before each file, and once for each of these small ones.
      asked.add(1, ordering: .relaxed).newValue > 4
    }) { _ in }
    #expect(stopped.checked == 2 && !stopped.isComplete)
    let rest = try verification.run(limit: TimeSpan(milliseconds: 60_000)) { _ in }
    #expect(rest.checked == 1 && rest.isComplete)
  }

  @Test("What is damaged stays known until its file is read whole, whatever else is read")
  func damage() throws {
    let fixture = try fixture()
    try fixture.spoil("three")
    let library = try LibraryFolder.open(fixture.layout)
    let reader = try fixture.library().reader
    let verification = try Verification(library: library, catalog: reader)
    let kept = KeptDamageList()
    let asset = try #require(try reader.assets(with: fixture.digest("three")).first)
    let record = try #require(try reader.asset(asset))
    func known() throws -> [AssetID: [VerificationProblem.Kind]] {
      let present = try DamageList.read(in: library).present(in: library, reader)
      // A list that is kept says the same, of all assets and of one.
      let list = kept.read(in: library)
      let (again, ofOne) = (
        try list.present(in: library, reader), try list.present(of: record, in: library, reader)
      )
      #expect(again == present && ofOne == present[asset] ?? [])
      return present.mapValues { $0.map(\.kind) }
    }
    #expect(try known().isEmpty)
    for _ in 1...4 {
      // Three reach the end, one begins anew.
      try verification.run(limit: TimeSpan(milliseconds: 0)) { _ in }
    }
    #expect(try known() == [asset: [.originalDamaged]])
    // A worker gets a link to the original, which changes its change time.
    let spoiled = fixture.original("three")
    #expect(link(spoiled.description, spoiled.description + ".link") == 0)
    #expect(unlink(spoiled.description + ".link") == 0)
    #expect(try known() == [asset: [.originalDamaged]])
    // A file that was changed since is no longer the one that was read.
    let stored = fixture.original("three")
    let whole = try Descriptor.open(stored, flags: O_WRONLY | O_TRUNC)
    try whole.write(Array("three".utf8))
    #expect(try known().isEmpty)
    try fixture.spoil("one")
    try verification.run { _ in }
    let others = try reader.assets(with: fixture.digest("one"))
    #expect(others.count == 2)
    #expect(
      try known() == Dictionary(uniqueKeysWithValues: others.map { ($0, [.originalDamaged]) }))
  }

  @Test(
    "An import heals what is damaged or missing, whatever is known of its path",
    arguments: SourceConfiguration.Duplicates.allCases)
  func healing(policy: SourceConfiguration.Duplicates) throws {
    for mode in [SourceConfiguration.Mode.copy, .move] {
      let fixture = try IngestFixture(mode, duplicates: policy)
      try fixture.write("hello", to: "first")
      try fixture.run()
      try fixture.spoil("hello")
      try fixture.write("hello", to: "second", permissions: 0o640)
      let before = try fixture.identity("second")
      try fixture.run()
      #expect(try fixture.problems().isEmpty, "\(policy) \(mode)")
      #expect(fixture.exists("second") == (mode == .copy || policy == .keep))
      if policy == .keep { #expect(try fixture.identity("second").isSameFile(as: before)) }
      #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    }
  }

  @Test("A path that is named is compared with the whole original, one in a folder by a look")
  func known() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("hello", to: "folder/a")
    try fixture.run()
    func again() throws {
      // Another process: nothing is remembered to be whole.
      fixture.close()
      _ = try fixture.importFile(fixture.path("folder/a"))
    }
    try again()
    #expect(fixture.report.events.first?.reason?.contains("has not changed") == true)
    let path = fixture.original("hello")
    try Descriptor.openFolder(path.parent).writeDurably(
      Array("jello".utf8), as: path.lastComponent, mode: 0o444)
    // As long as the whole one.
    fixture.close()
    _ = try fixture.importFile(fixture.path("folder"))
    #expect(try fixture.problems().count == 1)
    try again()
    #expect(try fixture.problems().isEmpty && fixture.assets().count == 1)
    try fixture.spoil("hello")
    fixture.close()
    _ = try fixture.importFile(fixture.path("folder"))
    #expect(try fixture.problems().isEmpty && fixture.assets().count == 1)
    try #require(unlink("\(path)") == 0)
    try again()
    #expect(try fixture.problems().isEmpty)
  }
}
