import Files
import Fixtures
import Glibc
import Manifest
import PipelineModel
import Testing

@testable import Ingest

@Suite("The folders in a library", .timeLimit(.minutes(1)))
struct LibraryPartsTests {
  let fixture: IngestFixture
  let root: Descriptor

  init() throws {
    fixture = try IngestFixture()
    root = try Descriptor.openFolder(fixture.layout.root)
  }

  private func refusal(of name: BytePath) throws -> IngestError {
    let error = try #require(throws: IngestError.self, "\(name)") { try fixture.library() }
    #expect(error.code == .notALibrary && error.path == fixture.layout.root.appending(name))
    #expect(throws: IngestError.self, "\(name)") { try fixture.rebuild() }
    return error
  }

  @Test("Those that can be filled again are made where they are missing, for the owner only")
  func made() throws {
    for name: BytePath in ["renditions", "incoming", "work"] { try root.removeFolder(name) }
    try fixture.library()
    for name: BytePath in ["renditions", "incoming", "work"] {
      #expect(try root.status(of: name).permissions == 0o700)
    }
  }

  @Test("In a library that nothing was put into, all are made")
  func madeInNew() throws {
    for name in try root.entries().map(\.name) where name != "library.json" {
      try root.removeFolder(name)
    }
    try fixture.library()
    #expect(try root.status(of: "manifest").kind == .folder)
  }

  @Test(
    "Without its manifest or its originals a library is refused",
    arguments: LibraryLayout.lastingFolders)
  func lasting(_ name: String) throws {
    try fixture.write("text", to: "a.txt")
    try fixture.run()
    fixture.close()
    try root.rename(BytePath(name), to: root, as: "elsewhere")
    try root.removeFolder("work")
    #expect(try refusal(of: BytePath(name)).message.contains("put it back"))
    // Nothing was made, not even what could be.
    #expect(throws: FileError.self) { try root.status(of: "work") }
  }

  @Test(
    "A link or a file in the place of a folder is refused, and nothing outside is touched",
    arguments: LibraryLayout.folders + LibraryLayout.occasionalFolders)
  func links(_ name: String) throws {
    let name = BytePath(name)
    let outside = try Descriptor.openFolder(fixture.temporary.path)
    try outside.makeFolder("outside")
    let target = fixture.temporary.appending("outside")
    // Clean-up: the occasional ones are not there.
    try? root.removeFolder(name)
    let link = fixture.layout.root.appending(name)
    #expect(symlink(target.description, link.description) == 0)
    #expect(try refusal(of: name).message.contains("link"))
    try root.remove(name)
    try root.writeDurably([], as: name)
    #expect(try refusal(of: name).message.contains("not a folder"))
    #expect(try Descriptor.openFolder(target).entries().isEmpty)
    try root.remove(name)
    try fixture.library()
  }

  @Test(
    "A folder of somebody else's is refused",
    .enabled(if: geteuid() == 0, "only root can give a folder away"))
  func owner() throws {
    #expect(chown(fixture.layout.work.description, 1234, 1234) == 0)
    #expect(try refusal(of: "work").message.contains("user 1234"))
  }

  @Test("A folder that others may write is refused", arguments: [UInt32(0o777), 0o707])
  func writable(_ mode: UInt32) throws {
    try #require(chmod(fixture.layout.work.description, mode) == 0)
    #expect(try refusal(of: "work").message.contains("chmod go-w"))
  }

  @Test(
    "A folder that its group may write is refused where it can't be known who is in it",
    .enabled(if: geteuid() == 0, "only root can give a folder to a group that is none"))
  func group() throws {
    try #require(chmod(fixture.layout.work.description, 0o770) == 0)
    try fixture.library()
    fixture.close()
    try #require(chown(fixture.layout.work.description, 0, 4_294_967_123) == 0)
    #expect(try refusal(of: "work").message.contains("there is no such group"))
  }

  @Test("A library that others may write is not locked, and nothing is made in it")
  func writableLibrary() throws {
    fixture.close()
    try root.removeIfThere("lock")
    for mode: UInt32 in [0o757, 0o1777] {
      try #require(chmod(fixture.layout.root.description, mode) == 0)
      try expectRefusal("chmod go-w")
    }
  }

  @Test(
    "A library of somebody else is not locked, and nothing is made in it",
    .enabled(if: geteuid() == 0, "only root can give a folder away"))
  func ownerOfLibrary() throws {
    fixture.close()
    try root.removeIfThere("lock")
    try #require(chown(fixture.layout.root.description, 1234, 1234) == 0)
    try expectRefusal("user 1234")
  }

  private func expectRefusal(_ words: String) throws {
    let found = try LibraryFolder.open(fixture.layout)
    let error = try #require(throws: IngestError.self) { try found.attemptLock() }
    #expect(error.code == .notALibrary && error.message.contains(words), "\(error.message)")
    #expect(try root.statusIfThere(of: "lock") == nil)
  }

  @Test("What was opened stays in the library, whatever its path leads to by now")
  func beneath() throws {
    let found = try LibraryFolder.open(fixture.layout)
    let moved = fixture.temporary.appending("moved")
    let parent = try Descriptor.openFolder(fixture.layout.root.parent)
    try parent.rename(fixture.layout.root.lastComponent, to: parent, as: moved.lastComponent)
    try parent.makeFolder(fixture.layout.root.lastComponent)
    let work = try found.openPart(fixture.layout.work)
    #expect(
      try work.status().isSameNode(as: Descriptor.openFolder(moved.appending("work")).status()))
    _ = try found.openOriginals()
    #expect(try found.openManifest().lastSequence == 0)
  }
}
