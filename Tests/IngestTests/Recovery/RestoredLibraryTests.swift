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

/// A kill came between two steps, and the library was restored or moved before the next run:
/// inode numbers are others, times and modes perhaps, and sources may be gone or edited.
@Suite("Recovery of a library that was restored or moved", .timeLimit(.minutes(1)))
struct RestoredLibraryTests {
  /// Renames a file in, as a taking does.
  private func renamedIn(_ scene: Scene, _ name: BytePath) throws -> ManifestFact.Intent {
    let intent = try scene.begin(name)
    try scene.folder(of: name).rename(
      name.lastComponent, to: scene.library().incoming, as: names(intent).itself)
    return intent
  }

  private func names(_ intent: ManifestFact.Intent) -> IncomingNames {
    IncomingNames(taking: intent.taking)
  }

  /// Gives a file another inode number, as a copy of the library has.
  private func restore(
    _ path: BytePath, modified: Int64?, permissions: UInt32
  ) throws {
    let folder = try Descriptor.openFolder(path.parent)
    let bytes = try folder.readFile(path.lastComponent)
    // Kept until the new one is there, so that it can't get the same number.
    let old = try Descriptor.open(path, flags: O_RDONLY)
    try folder.writeDurably(bytes, as: path.lastComponent)
    let new = try Descriptor.open(path, flags: O_RDONLY)
    try #require(try new.status().identity.inode != old.status().identity.inode)
    if let modified { try new.setModified(modified) }
    try new.setPermissions(permissions)
  }

  @Test(
    "The only copy of a file that was renamed in is stored, whatever its inode and its mode",
    arguments: [0o644, 0o444, 0o600] as [UInt32])
  func renamed(permissions: UInt32) throws {
    let scene = try Scene()
    try scene.write("only", to: "a/b.jpg")
    let intent = try renamedIn(scene, "a/b.jpg")
    try restore(
      scene.layout.incoming.appending(names(intent).itself), modified: intent.identity.modified,
      permissions: permissions)
    scene.close()
    try scene.library()
    #expect(try scene.assets().map(\.name) == ["b.jpg"])
    #expect(try filesBelow(scene.layout.originals).values.map { $0 } == [Array("only".utf8)])
    #expect(try scene.problems(unlocked: true).isEmpty)
  }

  @Test("Another file that has the same name by then does not cost the one that was renamed in")
  func nameTaken() throws {
    let scene = try Scene()
    try scene.write("first", to: "DSC_0001.JPG")
    let intent = try renamedIn(scene, "DSC_0001.JPG")
    // As large, and as old.
    try scene.write("other", to: "DSC_0001.JPG")
    try Descriptor.open(scene.path("DSC_0001.JPG"), flags: O_WRONLY)
      .setModified(intent.identity.modified)
    try restore(
      scene.layout.incoming.appending(names(intent).itself), modified: intent.identity.modified,
      permissions: 0o644)
    scene.close()
    try scene.run()
    let stored = try filesBelow(scene.layout.originals).values
    #expect(Set(stored.map { String(decoding: $0, as: UTF8.self) }) == ["first", "other"])
    #expect(try scene.assets().map(\.name) == ["DSC_0001.JPG", "DSC_0001.JPG"])
  }

  @Test("A file that was renamed in and lost its time goes back to its folder, and is taken")
  func withoutTime() throws {
    let scene = try Scene()
    try scene.write("only", to: "a/b.jpg")
    let intent = try renamedIn(scene, "a/b.jpg")
    try restore(
      scene.layout.incoming.appending(names(intent).itself), modified: nil, permissions: 0o644)
    scene.close()
    try scene.library()
    #expect(try filesBelow(scene.source.path) == ["a/b.jpg": Array("only".utf8)])
    #expect(try scene.outcomes() == ["a/b.jpg": .imported])
  }

  @Test("A file that can't go back, because its folder is gone, is stored with a word")
  func folderGone() throws {
    let scene = try Scene()
    try scene.write("changed", to: "a/b.jpg")
    let intent = try renamedIn(scene, "a/b.jpg")
    try restore(
      scene.layout.incoming.appending(names(intent).itself), modified: 1, permissions: 0o644)
    try Descriptor.openFolder(scene.source.path).removeFolder("a")
    scene.close()
    try scene.library()
    #expect(try scene.assets().map(\.name) == ["b.jpg"])
    #expect(scene.report.warnings.count == 1)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    #expect(try scene.run().isEmpty)
    #expect(try scene.problems(unlocked: true).isEmpty)
  }

  @Test("A file whose whole path is longer than the kernel takes goes back and is taken")
  func longPath() throws {
    let scene = try Scene()
    let part = String(repeating: "d", count: 200)
    let name = BytePath(Array(repeating: part, count: 21).joined(separator: "/") + "/b.jpg")
    try #require(scene.path(name).bytes.count > Int(PATH_MAX))
    try scene.write("deep", to: name)
    let intent = try renamedIn(scene, name)
    let incoming = try scene.library().incoming
    try Descriptor.open(names(intent).itself, in: incoming, flags: O_RDONLY).setModified(1)
    scene.close()
    try scene.library()
    #expect(scene.report.warnings.isEmpty)
    #expect(scene.exists(name))
    #expect(try scene.outcomes() == [name: .imported])
    #expect(try scene.assets().map(\.path) == [name])
  }

  @Test("A file in incoming/ that somebody writes to waits, and is dealt with later")
  func openForWriting() throws {
    let scene = try Scene()
    try scene.write("only", to: "a")
    let intent = try renamedIn(scene, "a")
    let path = scene.layout.incoming.appending(names(intent).itself)
    var writer: Descriptor? = try Descriptor.open(path, flags: O_WRONLY | O_APPEND)
    scene.close()
    try scene.library()
    #expect(scene.report.warnings.count == 1)
    #expect(try scene.assets().isEmpty)
    scene.close()
    try writer?.write(Array(" and more".utf8))
    writer = nil
    try scene.run()
    #expect(
      try filesBelow(scene.layout.originals).values.map { $0 } == [Array("only and more".utf8)])
  }

  @Test("A part of a copy whose source is gone or edited is kept apart, and named")
  func partOfCopy() throws {
    for isEdited in [false, true] {
      let scene = try Scene(.copy)
      try scene.write("whole file", to: "a")
      let intent = try scene.begin("a")
      let name = names(intent).copy
      try scene.library().incoming.writeDurably(Array("whole".utf8), as: name)
      if isEdited { try scene.write("edited", to: "a") } else { try scene.remove("a") }
      scene.close()
      try scene.library()
      #expect(try filesBelow(scene.layout.damaged) == [name: Array("whole".utf8)])
      #expect(scene.report.warnings.count == 1)
      #expect(scene.report.warnings.first?.contains(name.description) == true)
      try scene.run()
      #expect(try scene.assets().map(\.name) == (isEdited ? ["a"] : []))
      #expect(try scene.problems(unlocked: true).isEmpty)
      #expect(scene.report.warnings.count == 1)
    }
  }

  // MARK: Stored and not recorded

  /// A taking that came to its store, by copy, and no further.
  private func stored(_ scene: Scene, _ text: String, _ name: BytePath) throws {
    let intent = try scene.begin(name)
    let library = try scene.library()
    try library.incoming.writeDurably(Array(text.utf8), as: names(intent).copy, mode: 0o444)
    try Descriptor.open(names(intent).copy, in: library.incoming, flags: O_RDONLY)
      .setModified(intent.identity.modified)
    let item = IncomingOriginal(
      folder: library.incoming, name: names(intent).copy, digest: scene.digest(text))
    try #require(try library.originals.put([item]) == [.stored])
  }

  @Test(
    "An original that was stored and not recorded gets its record, whatever became of its source",
    arguments: SourceConfiguration.Mode.allCases, ["there", "edited", "gone"])
  func adopted(mode: SourceConfiguration.Mode, source: String) throws {
    let scene = try Scene(mode)
    scene.source.take = .copy
    for name in ["a", "b"] {
      try scene.write("bytes of \(name)", to: BytePath(name))
      try Descriptor.open(scene.path(BytePath(name)), flags: O_WRONLY)
        .setModified(name == "a" ? 1_000 : 2_000)
    }
    for name in ["a", "b"] { try stored(scene, "bytes of \(name)", BytePath(name)) }
    for name: BytePath in ["a", "b"] {
      if source == "edited" { try scene.write("edited \(name)", to: name) }
      if source == "gone" { try scene.remove(name) }
    }
    scene.close()
    try scene.library()
    let assets = try scene.assets()
    #expect(assets.map(\.name) == ["a", "b"])
    #expect(assets.map(\.digest) == ["a", "b"].map { scene.digest("bytes of \($0)") })
    try scene.run()
    #expect(try scene.assets().count == (source == "edited" ? 4 : 2))
    #expect(try scene.problems(unlocked: true).isEmpty)
    #expect(try filesBelow(scene.source.path).isEmpty == (mode == .move || source == "gone"))
  }

  @Test("A file that was not taken yet is a duplicate of one that the recovery stores")
  func equalFileInPlace() throws {
    let scene = try Scene()
    try scene.write("same", to: "a")
    try scene.write("same", to: "b")
    _ = try renamedIn(scene, "a")
    _ = try scene.begin("b")
    // Where it is looked for what was stored: nothing of a third file was.
    try scene.write("gone", to: "c")
    _ = try scene.begin("c")
    try scene.remove("c")
    scene.close()
    #expect(try scene.outcomes() == ["b": .duplicate])
    #expect(try filesBelow(scene.source.path).isEmpty)
    #expect(try scene.assets().map(\.name) == ["a"])
  }

  @Test("Bytes that were deleted for good and came again keep their record and their place")
  func comeAgain() throws {
    let scene = try Scene()
    try scene.write("bytes", to: "a")
    try scene.run()
    try scene.purge(try scene.assets().map(\.id))
    try collectGarbage(scene)
    try #require(try filesBelow(scene.layout.originals).isEmpty)
    try scene.write("bytes", to: "again")
    try stored(scene, "bytes", "again")
    try scene.remove("again")
    scene.close()
    #expect(try scene.assets().map(\.name) == ["again"])
    _ = try scene.rebuild()
    try collectGarbage(scene)
    #expect(try filesBelow(scene.layout.originals).values.map { $0 } == [Array("bytes".utf8)])
  }

  private func collectGarbage(_ scene: Scene) throws {
    _ = try GarbageCollection(library: scene.library(), report: scene.report).run { false }
  }

  @Test("Of files with the same size and time, none gets the name of another")
  func ambiguous() throws {
    let scene = try Scene(.copy)
    for name: BytePath in ["a", "b"] {
      try scene.write("bytes of \(name)", to: name)
      try Descriptor.open(scene.path(name), flags: O_WRONLY).setModified(1_000)
    }
    // One came to its store, the other did not; which of them, nobody can tell.
    try stored(scene, "bytes of b", "b")
    _ = try scene.begin("a")
    for name: BytePath in ["a", "b"] { try scene.remove(name) }
    scene.close()
    #expect(try scene.assets().isEmpty)
    let problems = try scene.problems(unlocked: true)
    #expect(problems.map(\.kind) == [.originalUnrecorded])
    let repaired = try Repair(library: scene.library(), report: scene.report)
      .repair(problems.filter(\.kind.isRepairable))
    #expect(repaired.repaired == 1)
    #expect(try scene.assets().map(\.digest) == [scene.digest("bytes of b")])
  }

  @Test("An original of the same size and another time is not taken for a file that changed")
  func changedMeanwhile() throws {
    let scene = try Scene(.copy)
    for (name, time) in [("a", 1_000), ("b", 2_000)] as [(BytePath, Int64)] {
      try scene.write("bytes of \(name)", to: name)
      try Descriptor.open(scene.path(name), flags: O_WRONLY).setModified(time)
    }
    _ = try scene.begin("a")
    try stored(scene, "bytes of b", "b")
    try scene.write("changed!", to: "a")
    try scene.remove("b")
    scene.close()
    try scene.run()
    let names = Dictionary(uniqueKeysWithValues: try scene.assets().map { ($0.name, $0.digest) })
    #expect(names == ["a": scene.digest("changed!"), "b": scene.digest("bytes of b")])
  }

  @Test("A file that was renamed in by a taking that the manifest does not know is stored")
  func unknownTaking() throws {
    let scene = try Scene()
    try scene.write("only", to: "a")
    let names = IncomingNames(taking: try scene.library().ids.next())
    try scene.folder(of: "a").rename("a", to: scene.library().incoming, as: names.itself)
    scene.close()
    try scene.library()
    #expect(try scene.assets().map(\.name) == [BytePath(scene.digest("only").hex)])
    #expect(scene.report.warnings.count == 1)
    #expect(try scene.problems(unlocked: true).isEmpty)
  }
}
