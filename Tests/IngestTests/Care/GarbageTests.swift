import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@testable import Catalog

@Suite("Garbage and repair", .timeLimit(.minutes(1)))
struct GarbageTests {
  private func scene() throws -> Scene {
    let scene = try Scene(duplicates: .asset)
    for (name, text) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")] {
      try scene.write(text, to: BytePath(name))
      try scene.run()
    }
    return scene
  }

  private func collect(_ scene: Scene) throws -> Garbage {
    let library = try scene.library()
    let preview = try GarbageCollection.preview(
      library: LibraryFolder.open(scene.layout), catalog: library.reader)
    let garbage = try GarbageCollection(library: library, report: scene.report).run { false }
    #expect(preview == garbage)
    return garbage
  }

  @Test("Only an original that was deleted for good, and that nobody has, goes")
  func originals() throws {
    let scene = try scene()
    #expect(try collect(scene) == Garbage())
    let assets = try scene.assets()
    try scene.purge([assets[0].id, assets[2].id])
    var expected = Garbage()
    expected.originals = 1
    expected.originalBytes = 3
    #expect(try collect(scene) == expected)
    #expect(
      try Set(filesBelow(scene.layout.originals).values.map { String(decoding: $0, as: UTF8.self) })
        == ["one", "three"])
    #expect(try collect(scene) == Garbage() && scene.problems().isEmpty)
    // The same bytes may come again.
    try scene.write("two", to: "c")
    #expect(try scene.outcomes() == ["c": .imported])
    #expect(try collect(scene) == Garbage() && scene.problems().isEmpty)
  }

  @Test("An original that no fact deleted stays, and is a problem")
  func unrecorded() throws {
    let scene = try scene()
    let digest = scene.digest("unknown")
    let folder = try Descriptor.openFolder(scene.layout.originals)
    try folder.makeFolder(BytePath(String(digest.hex.prefix(2))))
    try Descriptor.openFolder(scene.original("unknown").parent).writeDurably(
      Array("unknown".utf8), as: BytePath(digest.hex), mode: 0o444)
    scene.close()
    let problems = try scene.problems(unlocked: true)
    #expect(problems.map(\.kind) == [.originalUnrecorded])
    #expect(try collect(scene) == Garbage())
    #expect(try filesBelow(scene.layout.originals).count == 4)
  }

  @Test("An asset that the catalog has lost keeps its original")
  func lostRow() throws {
    let scene = try scene()
    let asset = try scene.assets()[2]
    // A deletion of another asset with the same bytes, and a catalog without either.
    let library = try scene.library()
    let fact = try library.manifest.append([
      .purged(asset: library.ids.next(), digest: asset.digest)
    ])
    try library.catalog.apply([.purged(asset.id, sequence: fact)], manifestPosition: 0)
    #expect(try library.reader.deletions(after: 0, limit: 9).map(\.sequence) == [fact])
    #expect(try collect(scene) == Garbage())
    #expect(try library.reader.deletions(after: 0, limit: 9).isEmpty)
    #expect(try filesBelow(scene.layout.originals).count == 3)
  }

  /// The facts of the originals that the catalog lists as deleted.
  private func deletions(_ scene: Scene) throws -> [Int64] {
    try scene.library().reader.deletions(after: 0, limit: 9).map(\.sequence)
  }

  /// Leaves the catalog as an older version has kept it.
  private func forgetDeletions(_ scene: Scene) throws {
    try scene.library().catalog.write { (writer) throws(CatalogError) in
      try writer.connection.execute("DELETE FROM deletion")
      try writer.connection.execute("DELETE FROM setting WHERE key = ?", Setting.deletions)
    }
    scene.close()
  }

  @Test("An original is removed without a look at what the manifest says before its deletion")
  func boundedReading() throws {
    let scene = try scene()
    let asset = try scene.assets()[2]
    scene.close()
    let folder = try Descriptor.openFolder(scene.layout.manifest)
    // Behind a torn line a new segment begins.
    var first = try folder.readFile("0001.jsonl")
    try folder.writeDurably(first + Array("torn".utf8), as: "0001.jsonl")
    try scene.purge([asset.id])
    first[100] ^= 1
    try folder.writeDurably(first, as: "0001.jsonl")
    var expected = Garbage()
    expected.originals = 1
    expected.originalBytes = 3
    #expect(try collect(scene) == expected)
  }

  @Test("Bytes that come again are no garbage, and are deleted anew")
  func comeAgain() throws {
    let scene = try scene()
    try scene.purge([try scene.assets()[2].id])
    #expect(try deletions(scene).count == 1)
    try scene.write("two", to: "again")
    try scene.run()
    #expect(try deletions(scene).isEmpty)
    #expect(try collect(scene) == Garbage())
    let again = try #require(try scene.assets().last)
    try scene.purge([again.id])
    // The last fact of all.
    #expect(try deletions(scene) == [scene.library().manifest.lastSequence])
    #expect(try collect(scene).originals == 1)
  }

  @Test("A list that a fact contradicts is not believed")
  func contradicted() throws {
    let scene = try scene()
    let asset = try scene.assets()[2]
    try scene.purge([asset.id])
    let listed = try deletions(scene)
    // Another asset of these bytes, of which the catalog knows nothing.
    let library = try scene.library()
    let intent = ManifestFact.Intent(
      taking: library.ids.next(), source: asset.source, path: "again",
      identity: FileIdentity(inode: 1, size: 3, modified: 1, changed: 1), permissions: 0o644,
      moves: true, run: nil)
    let stored = ManifestFact.Stored(
      asset: library.ids.next(), digest: asset.digest, intent: intent, supersedes: nil)
    try library.manifest.append([.stored(stored)])
    #expect(try deletions(scene) == listed)
    #expect(try collect(scene) == Garbage())
    #expect(try filesBelow(scene.layout.originals).count == 3)
  }

  @Test("A rebuilt catalog lists the same deletions, and so does one that an older version kept")
  func sameList() throws {
    let scene = try scene()
    let assets = try scene.assets()
    try scene.purge([assets[2].id])
    try scene.purge([assets[0].id, assets[1].id])
    let expected = try deletions(scene)
    #expect(expected.count == 2)
    _ = try scene.rebuild()
    #expect(try deletions(scene) == expected)
    try forgetDeletions(scene)
    #expect(try deletions(scene) == expected)
    #expect(try collect(scene).originals == 2 && deletions(scene).isEmpty)
  }

  @Test("While a taking can't be ended, no original is removed")
  func openTaking() throws {
    let scene = try scene()
    try scene.purge([try scene.assets()[2].id])
    let intent = ManifestFact.Intent(
      taking: try scene.library().ids.next(), source: scene.source.path, path: "e",
      identity: FileIdentity(inode: 1, size: 4, modified: 1, changed: 1), permissions: 0o644,
      moves: true, run: nil)
    try scene.library().manifest.append([.intent(intent)])
    // What is there in its place can't be read.
    let name = BytePath("\(intent.taking)")
    try scene.library().incoming.makeFolder(name)
    scene.close()
    #expect(try scene.library().reader.deletions(after: 0, limit: 9).count == 1)
    #expect(
      try GarbageCollection(library: scene.library(), report: scene.report).run { false }
        == Garbage())
    #expect(try filesBelow(scene.layout.originals).count == 3)
    #expect(scene.report.warnings.count == 2)
    try scene.library().incoming.removeFolder(name)
    scene.close()
    #expect(try collect(scene).originals == 1)
  }

  @Test("Files of renditions that nobody names go, and folders that are empty then")
  func files() throws {
    let scene = try scene()
    let folder = try Descriptor.openFolder(scene.layout.renditions)
    try folder.makeFolder("old")
    let old = try Descriptor.openFolder("old", in: folder)
    try old.makeFolder("ab")
    try Descriptor.openFolder("ab", in: old).writeDurably([1, 2, 3], as: "ab12.34.grid.jpg")
    var expected = Garbage()
    expected.files = 1
    expected.fileBytes = 3
    #expect(try collect(scene) == expected)
    #expect(try folder.entries().isEmpty)
  }

  @Test("Bytes that a file was let go for after a deletion are no garbage")
  func reliedUpon() throws {
    let scene = try scene()
    let asset = try scene.assets()[3]
    try breakOff(scene, asset)
    #expect(try collect(scene) == Garbage())
    scene.close()
    #expect(try scene.problems(unlocked: true).map(\.kind) == [.catalogDiffers])
    _ = try scene.rebuild()
    #expect(try scene.assets().count == 3)
    #expect(try collect(scene) == Garbage())
    #expect(try filesBelow(scene.layout.originals).count == 3)
  }

  /// Leaves the manifest and the catalog as a commit does that failed between the two.
  private func breakOff(_ scene: Scene, _ asset: AssetRecord) throws {
    let library = try scene.library()
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
    let scene = try scene()
    try scene.spoil("two")
    let problems = try scene.problems()
    #expect(problems.map(\.kind) == [.originalDamaged])
    let repair = Repair(library: try scene.library(), report: scene.report)
    // What is whole by now is left alone.
    var stale = problems[0]
    stale.digest = scene.digest("one")
    var result = RepairResult()
    #expect(try repair.repair([stale]) == result)
    result.setAside = 1
    #expect(try repair.repair(problems) == result)
    #expect(try repair.repair(problems) == RepairResult())
    #expect(try filesBelow(scene.layout.damaged).values.map { $0 } == [Array("spoiled".utf8)])
    #expect(try scene.problems().map(\.kind) == [.originalMissing])
    try scene.write("two", to: "good")
    scene.source.duplicates = .keep
    #expect(try scene.outcomes() == ["good": .duplicate])
    #expect(try scene.problems().isEmpty && scene.exists("good"))
  }

  @Test("A verification with a time limit goes on where the last one ended")
  func timeLimit() throws {
    let scene = try scene()
    try scene.spoil("three")
    let library = try LibraryFolder.open(scene.layout)
    let verification = try Verification(library: library, catalog: scene.library().reader)
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
    var asked = 0
    let stopped = try verification.run(isStopped: {
      asked += 1
      // Before each file, and once for each of these small ones.
      return asked > 4
    }) { _ in }
    #expect(stopped.checked == 2 && !stopped.isComplete)
    let rest = try verification.run(limit: TimeSpan(milliseconds: 60_000)) { _ in }
    #expect(rest.checked == 1 && rest.isComplete)
  }

  @Test("What is damaged stays known until its file is read whole, whatever else is read")
  func damage() throws {
    let scene = try scene()
    try scene.spoil("three")
    let library = try LibraryFolder.open(scene.layout)
    let reader = try scene.library().reader
    let verification = try Verification(library: library, catalog: reader)
    func known() throws -> [AssetID: [VerificationProblem.Kind]] {
      try DamageList.read(in: library).present(in: library, reader).mapValues { $0.map(\.kind) }
    }
    let asset = try #require(try reader.assets(with: scene.digest("three")).first)
    #expect(try known().isEmpty)
    for _ in 1...4 {
      // Three reach the end, one begins anew.
      try verification.run(limit: TimeSpan(milliseconds: 0)) { _ in }
    }
    #expect(try known() == [asset: [.originalDamaged]])
    // A file that was changed since is no longer the one that was read.
    let stored = scene.original("three")
    let whole = try Descriptor.open(stored, flags: O_WRONLY | O_TRUNC)
    try whole.write(Array("three".utf8))
    #expect(try known().isEmpty)
    try scene.spoil("one")
    try verification.run { _ in }
    let others = try reader.assets(with: scene.digest("one"))
    #expect(others.count == 2)
    #expect(
      try known() == Dictionary(uniqueKeysWithValues: others.map { ($0, [.originalDamaged]) }))
  }

  @Test(
    "An import heals what is damaged or missing, whatever is known of its path",
    arguments: SourceConfiguration.Duplicates.allCases)
  func healing(policy: SourceConfiguration.Duplicates) throws {
    for mode in [SourceConfiguration.Mode.copy, .move] {
      let scene = try Scene(mode, duplicates: policy)
      try scene.write("hello", to: "first")
      try scene.run()
      try scene.spoil("hello")
      try scene.write("hello", to: "second", permissions: 0o640)
      let before = try scene.identity("second")
      try scene.run()
      #expect(try scene.problems().isEmpty, "\(policy) \(mode)")
      #expect(scene.exists("second") == (mode == .copy || policy == .keep))
      if policy == .keep { #expect(try scene.identity("second").isSameFile(as: before)) }
      #expect(try filesBelow(scene.layout.incoming).isEmpty)
    }
  }

  @Test("A path that is named is compared with the whole original, one in a folder by a look")
  func known() throws {
    let scene = try Scene(.copy)
    try scene.write("hello", to: "folder/a")
    try scene.run()
    func again() throws {
      // Another process: nothing is remembered to be whole.
      scene.close()
      _ = try scene.importFile(scene.path("folder/a"))
    }
    try again()
    #expect(scene.report.events.first?.reason?.contains("has not changed") == true)
    let path = scene.original("hello")
    try Descriptor.openFolder(path.parent).writeDurably(
      Array("jello".utf8), as: path.lastComponent, mode: 0o444)
    // As long as the whole one.
    scene.close()
    _ = try scene.importFile(scene.path("folder"))
    #expect(try scene.problems().count == 1)
    try again()
    #expect(try scene.problems().isEmpty && scene.assets().count == 1)
    try scene.spoil("hello")
    scene.close()
    _ = try scene.importFile(scene.path("folder"))
    #expect(try scene.problems().isEmpty && scene.assets().count == 1)
    try #require(unlink("\(path)") == 0)
    try again()
    #expect(try scene.problems().isEmpty)
  }
}
