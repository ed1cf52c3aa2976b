import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Engine
@testable import PluginHost

@Suite("The folders of jobs", .timeLimit(.minutes(1)))
struct WorkFoldersTests {
  @Test("What jobs and workers left is removed; what somebody else put there stays")
  func emptied() throws {
    let temporary = try TemporaryFolder()
    let library = try Descriptor.openFolder(temporary.path)
    try library.makeFolder("work")
    let root = try Descriptor.openFolder("work", in: library)
    for name: BytePath in ["7", "worker-2", ".removed-0", "album", "worker-x", "7b", "worker-"] {
      try root.makeFolder(name)
      _ = try Descriptor.open(
        "file", in: Descriptor.openFolder(name, in: root), flags: O_WRONLY | O_CREAT, mode: 0o600)
    }
    _ = try Descriptor.open("picture.jpg", in: root, flags: O_WRONLY | O_CREAT, mode: 0o600)
    _ = try WorkFolders(in: library)
    #expect(
      try root.entries().map(\.name.description).sorted()
        == ["7b", "album", "picture.jpg", "worker-", "worker-x"])
  }

  @Test("An original that has to be copied for a worker is copied no further once that is stopped")
  func stoppedCopy() throws {
    // Another file system, so that the file can be neither linked nor cloned.
    let memory = try TemporaryFolder(in: "/dev/shm")
    try Descriptor.openFolder(memory.path).writeDurably(
      [UInt8](repeating: 7, count: 5 << 20), as: "original")
    let temporary = try TemporaryFolder()
    let folder = try WorkerFolder("worker-1", in: temporary.path)
    var chunks = 0
    let error = #expect(throws: FileError.self) {
      try folder.place(memory.path.appending("original"), as: "1", mayLink: false) {
        chunks += 1
        return chunks == 3
      }
    }
    #expect(error?.code == .stopped && chunks == 3)
    let input = try Descriptor.openFolder(folder.inputPath)
    #expect(try input.status(of: "1").identity.size == 2 << 20)
  }

  @Test("A link in the place of the folder is not followed")
  func link() throws {
    let temporary = try TemporaryFolder()
    let root = try Descriptor.openFolder(temporary.path)
    try root.makeFolder("elsewhere")
    try Descriptor.openFolder("elsewhere", in: root).makeFolder("7")
    try #require(symlink("elsewhere", "\(temporary.appending("work"))") == 0)
    #expect(throws: FileError.self) { try WorkFolders(in: root) }
    #expect(try Descriptor.openFolder("elsewhere", in: root).entries().count == 1)
  }

  @Test("Nothing is removed from a folder that others may write")
  func writable() throws {
    let temporary = try TemporaryFolder()
    let library = try Descriptor.openFolder(temporary.path)
    try library.makeFolder("work")
    try Descriptor.openFolder("work", in: library).makeFolder("7")
    try #require(chmod("\(temporary.appending("work"))", 0o777) == 0)
    #expect(throws: FileError.self) { try WorkFolders(in: library) }
    #expect(try Descriptor.openFolder("work", in: library).entries().count == 1)
  }
}
