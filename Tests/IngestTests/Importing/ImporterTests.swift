import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Manifest
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Taking files", .timeLimit(.minutes(2)))
struct ImporterTests {
  @Test("What was read in an earlier group of files does not count in the next")
  func readBefore() throws {
    let fixture = try IngestFixture()
    try fixture.write("bytes", to: "a")
    try fixture.run()
    try fixture.library().verified.insert(fixture.digest("bytes"))
    try fixture.spoil("bytes")
    try fixture.write("bytes", to: "b")
    #expect(try fixture.outcomes() == ["b": .duplicate])
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A moved file leaves its source and becomes an original with its very inode")
  func move() throws {
    let fixture = try IngestFixture()
    let before = try fixture.write("hello", to: "a/b.jpg", permissions: 0o640)
    let event = try #require(try fixture.run()["a/b.jpg"])
    #expect(event.outcome == .imported && event.storedBytes == 5)
    #expect(!fixture.exists("a/b.jpg"))
    let original = try Descriptor.open(fixture.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.isSameFile(as: before))
    #expect(original.permissions == 0o444 && original.links == 1)
    let asset = try #require(try fixture.assets().first)
    #expect(asset.id == event.asset && asset.name == "b.jpg" && asset.path == "a/b.jpg")
    #expect(asset.modified == before.modified && asset.size == 5)
    #expect(asset.source == fixture.source.path && asset.digest == fixture.digest("hello"))
    #expect(try LibraryState(fixture).problems.isEmpty)
    #expect(try fixture.run().isEmpty)
  }

  @Test("A copied file stays as it is, and is not taken again")
  func copy() throws {
    let fixture = try IngestFixture(.copy)
    let before = try fixture.write("hello", to: "a", permissions: 0o640)
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.identity("a") == before)
    let original = try Descriptor.open(fixture.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode && original.permissions == 0o444)
    #expect(try fixture.run().isEmpty)
    fixture.close()
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.assets().count == 1)
  }

  @Test("With take “copy” a moved file is copied, and its source removed")
  func importByCopy() throws {
    let fixture = try IngestFixture()
    fixture.source.take = .copy
    let before = try fixture.write("hello", to: "a")
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(!fixture.exists("a"))
    let original = try Descriptor.open(fixture.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode)
  }

  @Test("A file with another name elsewhere is copied, so that nobody can write to the original")
  func hardLink() throws {
    let fixture = try IngestFixture()
    let before = try fixture.write("hello", to: "a")
    let other = fixture.temporary.appending("other")
    try #require(link("\(fixture.path("a"))", "\(other)") == 0)
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(!fixture.exists("a"))
    let original = try Descriptor.open(fixture.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode)
    let file = try Descriptor.open(other, flags: O_RDWR)
    try file.write(Array("HELLO".utf8))
    #expect(try fixture.problems().isEmpty)
  }

  @Test("Names of any bytes are taken and kept: 255 of them, no UTF-8, newlines, dashes")
  func names() throws {
    let fixture = try IngestFixture()
    let names: [BytePath] = [
      BytePath(bytes: [UInt8](repeating: 0xE9, count: 255)), BytePath(bytes: [0xFF, 0x2E, 0x6A]),
      "-rf", "new\nline", " ", "*", "%FF.j", "写真.jpg",
    ]
    for (number, name) in names.enumerated() { try fixture.write("content \(number)", to: name) }
    let outcomes = try fixture.outcomes()
    #expect(outcomes == Dictionary(uniqueKeysWithValues: names.map { ($0, .imported) }))
    #expect(Set(try fixture.assets().map(\.name)) == Set(names))
    #expect(try filesBelow(fixture.source.path).isEmpty)
    #expect(try LibraryState(fixture).problems.isEmpty)
    for name in names { #expect(try fixture.sighting(name)?.state == .imported) }
  }

  @Test("Many files are taken in groups, each once, with keys in order")
  func many() throws {
    let fixture = try IngestFixture()
    for number in 0..<300 { try fixture.write("content \(number)", to: BytePath("f\(number)")) }
    let outcomes = try fixture.outcomes()
    #expect(outcomes.count == 300 && outcomes.values.allSatisfy { $0 == .imported })
    #expect(try fixture.assets().count == 300)
    #expect(try filesBelow(fixture.layout.originals).count == 300)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    // Few at first, so that the stages get work soon.
    #expect(fixture.report.commits >= 4)
  }

  @Test("An empty file is rejected and left, and told once")
  func empty() throws {
    let fixture = try IngestFixture()
    try fixture.write("", to: "a")
    let event = try #require(try fixture.run()["a"])
    #expect(event.outcome == .rejected && event.reason == "The file is empty.")
    #expect(fixture.exists("a"))
    #expect(try fixture.run().isEmpty)
    try fixture.write("no more", to: "a")
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("A large file of holes is rejected before it is read")
  func holes() throws {
    let fixture = try IngestFixture()
    try fixture.write("x", to: "a")
    try #require(truncate("\(fixture.path("a"))", 1 << 40) == 0)
    #expect(try fixture.outcomes() == ["a": .rejected])
    #expect(fixture.exists("a"))
  }

  @Test("Links and pipes are ignored and left, and what links lead to is not touched")
  func special() throws {
    let fixture = try IngestFixture()
    let folder = try Descriptor.openFolder(fixture.temporary.path)
    try folder.writeDurably([1], as: "precious")
    try #require(symlink("../precious", "\(fixture.path("link"))") == 0)
    try #require(symlink("..", "\(fixture.path("folder"))") == 0)
    try #require(mkfifo("\(fixture.path("pipe"))", 0o600) == 0)
    #expect(try fixture.outcomes() == ["link": .ignored, "folder": .ignored, "pipe": .ignored])
    #expect(try folder.readFile("precious") == [1])
    #expect(fixture.exists("link") && fixture.exists("pipe"))
    #expect(try fixture.run().isEmpty)
  }

  @Test("Folders that became empty go if that is asked for, but never the source")
  func emptyFolders() throws {
    let fixture = try IngestFixture()
    fixture.source.emptyFolders = .remove
    try fixture.write("1", to: "a/b/one")
    try fixture.write("2", to: "c/two")
    try fixture.write("", to: "c/empty")
    try fixture.write("3", to: "three")
    _ = try fixture.folder(of: "never/used")
    try fixture.run()
    #expect(!fixture.exists("a") && fixture.exists("c") && fixture.exists("never"))
    #expect(fixture.exists("c/empty"))
    try fixture.remove("c/empty")
    try fixture.write("4", to: "c/four")
    try fixture.run()
    #expect(!fixture.exists("c"))
    #expect(try Descriptor.openFolder(fixture.source.path).status().kind == .folder)
  }

  @Test("Nothing is copied into the reserve, and what needs no room is taken all the same")
  func reserve() throws {
    let fixture = try IngestFixture()
    try fixture.write("renamed", to: "a")
    try fixture.write("copied", to: "b")
    // A file with two names is copied.
    try #require(link("\(fixture.path("b"))", "\(fixture.temporary.appending("b2"))") == 0)
    // Other programs may use up a part of the disk meanwhile, so the margin is wide.
    try #require(truncate(fixture.path("b").description, 900 << 20) == 0)
    let free = try Descriptor.openFolder(fixture.layout.root).fileSystem().freeBytes
    try #require(free > 2 << 30, "needs 2 GiB of free space")
    let events = try fixture.run(reserve: free - 512 << 20)
    #expect(events["a"]?.outcome == .imported)
    #expect(events["b"]?.outcome == .failed)
    #expect(events["b"]?.reason?.contains("reserve") == true)
    #expect(fixture.exists("b"))
    fixture.close()
    try #require(truncate(fixture.path("b").description, 6) == 0)
    #expect(try fixture.outcomes() == ["b": .imported])
  }

  @Test("Below the reserve nothing is taken, one error says so, and with room all goes on")
  func noRoom() throws {
    let fixture = try IngestFixture()
    try fixture.write("one", to: "a")
    try fixture.write("", to: "b")
    let error = try #require(throws: IngestError.self) { try fixture.run(reserve: .max / 2) }
    #expect(error.code == .noSpace && error.path == fixture.layout.root)
    #expect(error.message.contains("reserve") && error.message.contains("free"))
    #expect(try !fixture.library().hasRoom())
    #expect(fixture.report.events == [] && fixture.exists("a") && fixture.exists("b"))
    #expect(try fixture.sighting("a") == nil && fixture.library().manifest.lastSequence == 0)
    fixture.close()
    #expect(try fixture.outcomes() == ["a": .imported, "b": .rejected])
    #expect(try fixture.library().hasRoom())
  }

  @Test(
    "A source on another file system is copied and then removed",
    .enabled(if: TemporaryFolder.hasOtherFileSystem, "needs another file system in /dev/shm"))
  func otherFileSystem() throws {
    let fixture = try IngestFixture()
    let elsewhere = "/dev/shm/pipeline-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    fixture.source.path = BytePath(elsewhere)
    try fixture.write("hello", to: "a")
    #expect(throws: IngestError.self) { try fixture.outcomes(reserve: .max / 2) }
    #expect(fixture.exists("a"))
    fixture.close()
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(!fixture.exists("a"))
    #expect(try fixture.problems().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test(
    "Originals that are a link to another file system are refused with one error",
    .enabled(if: TemporaryFolder.hasOtherFileSystem, "needs another file system in /dev/shm"))
  func originalsElsewhere() throws {
    let fixture = try IngestFixture()
    let before = try fixture.write("hello", to: "a")
    let elsewhere = "/dev/shm/pipeline-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    try #require(rmdir("\(fixture.layout.originals)") == 0)
    try #require(symlink(elsewhere, "\(fixture.layout.originals)") == 0)
    let error = try #require(throws: IngestError.self) { try fixture.run() }
    #expect(error.code == .notALibrary && error.message.contains("link"))
    #expect(try fixture.identity("a") == before)
    #expect(fixture.report.events.isEmpty && fixture.report.warnings.isEmpty)
  }
}
