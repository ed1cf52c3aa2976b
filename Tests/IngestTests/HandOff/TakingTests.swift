import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@Suite("Taking files", .timeLimit(.minutes(2)))
struct TakingTests {
  @Test("A moved file leaves its source and becomes an original with its very inode")
  func move() throws {
    let scene = try Scene()
    let before = try scene.write("hello", to: "a/b.jpg", permissions: 0o640)
    let event = try #require(try scene.run()["a/b.jpg"])
    #expect(event.outcome == .imported && event.storedBytes == 5)
    #expect(!scene.exists("a/b.jpg"))
    let original = try Descriptor.open(scene.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.isSameFile(as: before))
    #expect(original.permissions == 0o444 && original.links == 1)
    let asset = try #require(try scene.assets().first)
    #expect(asset.id == event.asset && asset.name == "b.jpg" && asset.path == "a/b.jpg")
    #expect(asset.modified == before.modified && asset.size == 5)
    #expect(asset.source == scene.source.path && asset.digest == scene.digest("hello"))
    #expect(try LibraryState(scene).problems.isEmpty)
    #expect(try scene.run().isEmpty)
  }

  @Test("A copied file stays as it is, and is not taken again")
  func copy() throws {
    let scene = try Scene(.copy)
    let before = try scene.write("hello", to: "a", permissions: 0o640)
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.identity("a") == before)
    let original = try Descriptor.open(scene.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode && original.permissions == 0o444)
    #expect(try scene.run().isEmpty)
    scene.close()
    #expect(try scene.run().isEmpty)
    #expect(try scene.assets().count == 1)
  }

  @Test("With take “copy” a moved file is copied, and its source removed")
  func takeByCopy() throws {
    let scene = try Scene()
    scene.source.take = .copy
    let before = try scene.write("hello", to: "a")
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(!scene.exists("a"))
    let original = try Descriptor.open(scene.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode)
  }

  @Test("A file with another name elsewhere is copied, so that nobody can write to the original")
  func hardLink() throws {
    let scene = try Scene()
    let before = try scene.write("hello", to: "a")
    let other = scene.temporary.appending("other")
    try #require(link("\(scene.path("a"))", "\(other)") == 0)
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(!scene.exists("a"))
    let original = try Descriptor.open(scene.original("hello"), flags: O_RDONLY).status()
    #expect(original.identity.inode != before.inode)
    let file = try Descriptor.open(other, flags: O_RDWR)
    try file.write(Array("HELLO".utf8))
    #expect(try scene.problems().isEmpty)
  }

  @Test("Names of any bytes are taken and kept: 255 of them, no UTF-8, newlines, dashes")
  func names() throws {
    let scene = try Scene()
    let names: [BytePath] = [
      BytePath(bytes: [UInt8](repeating: 0xE9, count: 255)), BytePath(bytes: [0xFF, 0x2E, 0x6A]),
      "-rf", "new\nline", " ", "*", "%FF.j", "写真.jpg",
    ]
    for (number, name) in names.enumerated() { try scene.write("content \(number)", to: name) }
    let outcomes = try scene.outcomes()
    #expect(outcomes == Dictionary(uniqueKeysWithValues: names.map { ($0, .imported) }))
    #expect(Set(try scene.assets().map(\.name)) == Set(names))
    #expect(try filesBelow(scene.source.path).isEmpty)
    #expect(try LibraryState(scene).problems.isEmpty)
    for name in names { #expect(try scene.sighting(name)?.state == .imported) }
  }

  @Test("Many files are taken in groups, each once, with keys in order")
  func many() throws {
    let scene = try Scene()
    for number in 0..<300 { try scene.write("content \(number)", to: BytePath("f\(number)")) }
    let outcomes = try scene.outcomes()
    #expect(outcomes.count == 300 && outcomes.values.allSatisfy { $0 == .imported })
    #expect(try scene.assets().count == 300)
    #expect(try filesBelow(scene.layout.originals).count == 300)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    // Few at first, so that the stages get work soon.
    #expect(scene.report.commits >= 4)
  }

  @Test("An empty file is rejected and left, and told once")
  func empty() throws {
    let scene = try Scene()
    try scene.write("", to: "a")
    let event = try #require(try scene.run()["a"])
    #expect(event.outcome == .rejected && event.reason == "The file is empty.")
    #expect(scene.exists("a"))
    #expect(try scene.run().isEmpty)
    try scene.write("no more", to: "a")
    #expect(try scene.outcomes() == ["a": .imported])
  }

  @Test("A large file of holes is rejected before it is read")
  func holes() throws {
    let scene = try Scene()
    try scene.write("x", to: "a")
    try #require(truncate("\(scene.path("a"))", 1 << 40) == 0)
    #expect(try scene.outcomes() == ["a": .rejected])
    #expect(scene.exists("a"))
  }

  @Test("Links and pipes are ignored and left, and what links lead to is not touched")
  func special() throws {
    let scene = try Scene()
    let folder = try Descriptor.openFolder(scene.temporary.path)
    try folder.writeDurably([1], as: "precious")
    try #require(symlink("../precious", "\(scene.path("link"))") == 0)
    try #require(symlink("..", "\(scene.path("folder"))") == 0)
    try #require(mkfifo("\(scene.path("pipe"))", 0o600) == 0)
    #expect(try scene.outcomes() == ["link": .ignored, "folder": .ignored, "pipe": .ignored])
    #expect(try folder.readFile("precious") == [1])
    #expect(scene.exists("link") && scene.exists("pipe"))
    #expect(try scene.run().isEmpty)
  }

  @Test("Folders that became empty go if that is asked for, but never the source")
  func emptyFolders() throws {
    let scene = try Scene()
    scene.source.emptyFolders = .remove
    try scene.write("1", to: "a/b/one")
    try scene.write("2", to: "c/two")
    try scene.write("", to: "c/empty")
    try scene.write("3", to: "three")
    _ = try scene.folder(of: "never/used")
    try scene.run()
    #expect(!scene.exists("a") && scene.exists("c") && scene.exists("never"))
    #expect(scene.exists("c/empty"))
    try scene.remove("c/empty")
    try scene.write("4", to: "c/four")
    try scene.run()
    #expect(!scene.exists("c"))
    #expect(try Descriptor.openFolder(scene.source.path).status().kind == .folder)
  }

  @Test("Nothing is copied into the reserve, and what needs no room is taken all the same")
  func reserve() throws {
    let scene = try Scene()
    try scene.write("renamed", to: "a")
    try scene.write("copied", to: "b")
    // A file with two names is copied.
    try #require(link("\(scene.path("b"))", "\(scene.temporary.appending("b2"))") == 0)
    // Other programs may use up a part of the disk meanwhile, so the margin is wide.
    try #require(truncate(scene.path("b").description, 900 << 20) == 0)
    let free = try Descriptor.openFolder(scene.layout.root).fileSystem().freeBytes
    try #require(free > 2 << 30, "needs 2 GiB of free space")
    let events = try scene.run(reserve: free - 512 << 20)
    #expect(events["a"]?.outcome == .imported)
    #expect(events["b"]?.outcome == .failed)
    #expect(events["b"]?.reason?.contains("reserve") == true)
    #expect(scene.exists("b"))
    scene.close()
    try #require(truncate(scene.path("b").description, 6) == 0)
    #expect(try scene.outcomes() == ["b": .imported])
  }

  @Test("Below the reserve nothing is taken, one error says so, and with room all goes on")
  func noRoom() throws {
    let scene = try Scene()
    try scene.write("one", to: "a")
    try scene.write("", to: "b")
    let error = try #require(throws: IngestError.self) { try scene.run(reserve: .max / 2) }
    #expect(error.code == .noSpace && error.path == scene.layout.root)
    #expect(error.message.contains("reserve") && error.message.contains("free"))
    #expect(try !scene.library().hasRoom())
    #expect(scene.report.events == [] && scene.exists("a") && scene.exists("b"))
    #expect(try scene.sighting("a") == nil && scene.library().manifest.lastSequence == 0)
    scene.close()
    #expect(try scene.outcomes() == ["a": .imported, "b": .rejected])
    #expect(try scene.library().hasRoom())
  }

  @Test(
    "A source on another file system is copied and then removed",
    .enabled(if: otherDisk, "needs another file system in /dev/shm"))
  func otherFileSystem() throws {
    let scene = try Scene()
    let elsewhere = "/dev/shm/pipeline-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    scene.source.path = BytePath(elsewhere)
    try scene.write("hello", to: "a")
    #expect(throws: IngestError.self) { try scene.outcomes(reserve: .max / 2) }
    #expect(scene.exists("a"))
    scene.close()
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(!scene.exists("a"))
    #expect(try scene.problems().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }

  @Test(
    "Originals that are a link to another file system are refused with one error",
    .enabled(if: otherDisk, "needs another file system in /dev/shm"))
  func originalsElsewhere() throws {
    let scene = try Scene()
    let before = try scene.write("hello", to: "a")
    let elsewhere = "/dev/shm/pipeline-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    try #require(rmdir("\(scene.layout.originals)") == 0)
    try #require(symlink(elsewhere, "\(scene.layout.originals)") == 0)
    let error = try #require(throws: IngestError.self) { try scene.run() }
    #expect(error.code == .notALibrary && error.message.contains("link"))
    #expect(try scene.identity("a") == before)
    #expect(scene.report.events.isEmpty && scene.report.warnings.isEmpty)
  }

  /// Whether there is a second file system to write to.
  static var otherDisk: Bool {
    var (here, there) = (stat(), stat())
    return stat(FileManager.default.temporaryDirectory.path, &here) == 0
      && stat("/dev/shm", &there) == 0 && here.st_dev != there.st_dev
      && access("/dev/shm", W_OK) == 0
  }
}
