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

/// A kill came between two steps, and the library was restored or moved before the next run:
/// inode numbers are others, times and modes perhaps, and sources may be gone or edited.
@Suite("Recovery of a library that was restored or moved", .timeLimit(.minutes(1)))
struct RestoredLibraryTests {
  /// Renames a file in, as a taking does.
  private func renamedIn(_ fixture: IngestFixture, _ name: BytePath) throws -> ManifestFact.Intent {
    let intent = try fixture.begin(name)
    try fixture.folder(of: name).rename(
      name.lastComponent, to: fixture.library().incoming, as: names(intent).itself)
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
    let fixture = try IngestFixture()
    try fixture.write("only", to: "a/b.jpg")
    let intent = try renamedIn(fixture, "a/b.jpg")
    try restore(
      fixture.layout.incoming.appending(names(intent).itself), modified: intent.identity.modified,
      permissions: permissions)
    fixture.close()
    try fixture.library()
    #expect(try fixture.assets().map(\.name) == ["b.jpg"])
    #expect(try filesBelow(fixture.layout.originals).values.map { $0 } == [Array("only".utf8)])
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("Another file that has the same name by then does not cost the one that was renamed in")
  func nameTaken() throws {
    let fixture = try IngestFixture()
    try fixture.write("first", to: "DSC_0001.JPG")
    let intent = try renamedIn(fixture, "DSC_0001.JPG")
    // As large, and as old.
    try fixture.write("other", to: "DSC_0001.JPG")
    try Descriptor.open(fixture.path("DSC_0001.JPG"), flags: O_WRONLY)
      .setModified(intent.identity.modified)
    try restore(
      fixture.layout.incoming.appending(names(intent).itself), modified: intent.identity.modified,
      permissions: 0o644)
    fixture.close()
    try fixture.run()
    let stored = try filesBelow(fixture.layout.originals).values
    #expect(Set(stored.map { String(decoding: $0, as: UTF8.self) }) == ["first", "other"])
    #expect(try fixture.assets().map(\.name) == ["DSC_0001.JPG", "DSC_0001.JPG"])
  }

  @Test("A file that was renamed in and lost its time goes back to its folder, and is taken")
  func withoutTime() throws {
    let fixture = try IngestFixture()
    try fixture.write("only", to: "a/b.jpg")
    let intent = try renamedIn(fixture, "a/b.jpg")
    try restore(
      fixture.layout.incoming.appending(names(intent).itself), modified: nil, permissions: 0o644)
    fixture.close()
    try fixture.library()
    #expect(try filesBelow(fixture.source.path) == ["a/b.jpg": Array("only".utf8)])
    #expect(try fixture.outcomes() == ["a/b.jpg": .imported])
  }

  @Test("A file that can't go back, because its folder is gone, is stored with a word")
  func folderGone() throws {
    let fixture = try IngestFixture()
    try fixture.write("changed", to: "a/b.jpg")
    let intent = try renamedIn(fixture, "a/b.jpg")
    try restore(
      fixture.layout.incoming.appending(names(intent).itself), modified: 1, permissions: 0o644)
    try Descriptor.openFolder(fixture.source.path).removeFolder("a")
    fixture.close()
    try fixture.library()
    #expect(try fixture.assets().map(\.name) == ["b.jpg"])
    #expect(fixture.report.warnings.count == 1)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("A file whose whole path is longer than the kernel takes goes back and is taken")
  func longPath() throws {
    let fixture = try IngestFixture()
    let part = String(repeating: "d", count: 200)
    let name = BytePath(Array(repeating: part, count: 21).joined(separator: "/") + "/b.jpg")
    try #require(fixture.path(name).bytes.count > Int(PATH_MAX))
    try fixture.write("deep", to: name)
    let intent = try renamedIn(fixture, name)
    let incoming = try fixture.library().incoming
    try Descriptor.open(names(intent).itself, in: incoming, flags: O_RDONLY).setModified(1)
    fixture.close()
    try fixture.library()
    #expect(fixture.report.warnings.isEmpty)
    #expect(fixture.exists(name))
    #expect(try fixture.outcomes() == [name: .imported])
    #expect(try fixture.assets().map(\.path) == [name])
  }

  @Test("A file in incoming/ that somebody writes to waits, and is dealt with later")
  func openForWriting() throws {
    let fixture = try IngestFixture()
    try fixture.write("only", to: "a")
    let intent = try renamedIn(fixture, "a")
    let path = fixture.layout.incoming.appending(names(intent).itself)
    var writer: Descriptor? = try Descriptor.open(path, flags: O_WRONLY | O_APPEND)
    fixture.close()
    try fixture.library()
    #expect(fixture.report.warnings.count == 1)
    #expect(try fixture.assets().isEmpty)
    fixture.close()
    try writer?.write(Array(" and more".utf8))
    writer = nil
    try fixture.run()
    #expect(
      try filesBelow(fixture.layout.originals).values.map { $0 } == [Array("only and more".utf8)])
  }

  @Test("A part of a copy whose source is gone or edited is kept apart, and named")
  func partOfCopy() throws {
    for isEdited in [false, true] {
      let fixture = try IngestFixture(.copy)
      try fixture.write("whole file", to: "a")
      let intent = try fixture.begin("a")
      let name = names(intent).copy
      try fixture.library().incoming.writeDurably(Array("whole".utf8), as: name)
      if isEdited { try fixture.write("edited", to: "a") } else { try fixture.remove("a") }
      fixture.close()
      try fixture.library()
      #expect(try filesBelow(fixture.layout.damaged) == [name: Array("whole".utf8)])
      #expect(fixture.report.warnings.count == 1)
      #expect(fixture.report.warnings.first?.contains(name.description) == true)
      try fixture.run()
      #expect(try fixture.assets().map(\.name) == (isEdited ? ["a"] : []))
      #expect(try fixture.problems(unlocked: true).isEmpty)
      #expect(fixture.report.warnings.count == 1)
    }
  }

  // MARK: Stored and not recorded

  /// A taking that came to its store, by copy, and no further.
  private func stored(_ fixture: IngestFixture, _ text: String, _ name: BytePath) throws {
    let intent = try fixture.begin(name)
    let library = try fixture.library()
    try library.incoming.writeDurably(Array(text.utf8), as: names(intent).copy, mode: 0o444)
    try Descriptor.open(names(intent).copy, in: library.incoming, flags: O_RDONLY)
      .setModified(intent.identity.modified)
    let item = IncomingOriginal(
      folder: library.incoming, name: names(intent).copy, digest: fixture.digest(text))
    try #require(try library.originals.put([item]) == [.stored])
  }

  @Test(
    "An original that was stored and not recorded gets its record, whatever became of its source",
    arguments: SourceConfiguration.Mode.allCases, ["there", "edited", "gone"])
  func adopted(mode: SourceConfiguration.Mode, source: String) throws {
    let fixture = try IngestFixture(mode)
    fixture.source.take = .copy
    for name in ["a", "b"] {
      try fixture.write("bytes of \(name)", to: BytePath(name))
      try Descriptor.open(fixture.path(BytePath(name)), flags: O_WRONLY)
        .setModified(name == "a" ? 1_000 : 2_000)
    }
    for name in ["a", "b"] { try stored(fixture, "bytes of \(name)", BytePath(name)) }
    for name: BytePath in ["a", "b"] {
      if source == "edited" { try fixture.write("edited \(name)", to: name) }
      if source == "gone" { try fixture.remove(name) }
    }
    fixture.close()
    try fixture.library()
    let assets = try fixture.assets()
    #expect(assets.map(\.name) == ["a", "b"])
    #expect(assets.map(\.digest) == ["a", "b"].map { fixture.digest("bytes of \($0)") })
    try fixture.run()
    #expect(try fixture.assets().count == (source == "edited" ? 4 : 2))
    #expect(try fixture.problems(unlocked: true).isEmpty)
    #expect(try filesBelow(fixture.source.path).isEmpty == (mode == .move || source == "gone"))
  }

  @Test("A file that was not taken yet is a duplicate of one that the recovery stores")
  func equalFileInPlace() throws {
    let fixture = try IngestFixture()
    try fixture.write("same", to: "a")
    try fixture.write("same", to: "b")
    _ = try renamedIn(fixture, "a")
    _ = try fixture.begin("b")
    // Where it is looked for what was stored: nothing of a third file was.
    try fixture.write("gone", to: "c")
    _ = try fixture.begin("c")
    try fixture.remove("c")
    fixture.close()
    #expect(try fixture.outcomes() == ["b": .duplicate])
    #expect(try filesBelow(fixture.source.path).isEmpty)
    #expect(try fixture.assets().map(\.name) == ["a"])
  }

  @Test("Bytes that were deleted for good and came again keep their record and their place")
  func comeAgain() throws {
    let fixture = try IngestFixture()
    try fixture.write("bytes", to: "a")
    try fixture.run()
    try fixture.purge(try fixture.assets().map(\.id))
    try collectGarbage(fixture)
    try #require(try filesBelow(fixture.layout.originals).isEmpty)
    try fixture.write("bytes", to: "again")
    try stored(fixture, "bytes", "again")
    try fixture.remove("again")
    fixture.close()
    #expect(try fixture.assets().map(\.name) == ["again"])
    _ = try fixture.rebuild()
    try collectGarbage(fixture)
    #expect(try filesBelow(fixture.layout.originals).values.map { $0 } == [Array("bytes".utf8)])
  }

  private func collectGarbage(_ fixture: IngestFixture) throws {
    _ = try GarbageCollection(library: fixture.library(), report: fixture.report).run { false }
  }

  @Test("Of files with the same size and time, none gets the name of another")
  func ambiguous() throws {
    let fixture = try IngestFixture(.copy)
    for name: BytePath in ["a", "b"] {
      try fixture.write("bytes of \(name)", to: name)
      try Descriptor.open(fixture.path(name), flags: O_WRONLY).setModified(1_000)
    }
    // One came to its store, the other did not; which of them, nobody can tell.
    try stored(fixture, "bytes of b", "b")
    _ = try fixture.begin("a")
    for name: BytePath in ["a", "b"] { try fixture.remove(name) }
    fixture.close()
    #expect(try fixture.assets().isEmpty)
    let problems = try fixture.problems(unlocked: true)
    #expect(problems.map(\.kind) == [.originalUnrecorded])
    let repaired = try Repair(library: fixture.library(), report: fixture.report)
      .repair(problems.filter(\.kind.isRepairable))
    #expect(repaired.repaired == 1)
    #expect(try fixture.assets().map(\.digest) == [fixture.digest("bytes of b")])
  }

  @Test("An original of the same size and another time is not taken for a file that changed")
  func changedMeanwhile() throws {
    let fixture = try IngestFixture(.copy)
    for (name, time) in [("a", 1_000), ("b", 2_000)] as [(BytePath, Int64)] {
      try fixture.write("bytes of \(name)", to: name)
      try Descriptor.open(fixture.path(name), flags: O_WRONLY).setModified(time)
    }
    _ = try fixture.begin("a")
    try stored(fixture, "bytes of b", "b")
    try fixture.write("changed!", to: "a")
    try fixture.remove("b")
    fixture.close()
    try fixture.run()
    let names = Dictionary(uniqueKeysWithValues: try fixture.assets().map { ($0.name, $0.digest) })
    #expect(names == ["a": fixture.digest("changed!"), "b": fixture.digest("bytes of b")])
  }

  @Test("A file that was renamed in by a taking that the manifest does not know is stored")
  func unknownTaking() throws {
    let fixture = try IngestFixture()
    try fixture.write("only", to: "a")
    let names = IncomingNames(taking: try fixture.library().ids.next())
    try fixture.folder(of: "a").rename("a", to: fixture.library().incoming, as: names.itself)
    fixture.close()
    try fixture.library()
    #expect(try fixture.assets().map(\.name) == [BytePath(fixture.digest("only").hex)])
    #expect(fixture.report.warnings.count == 1)
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }
}
