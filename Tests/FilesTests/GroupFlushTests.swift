import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Files

@Suite("Flushing many files together", .timeLimit(.minutes(1)))
struct GroupFlushTests {
  @Test("A kernel's release is read as far as it is a version")
  func release() {
    #expect(KernelVersion(release: "6.1.0-18-amd64") == KernelVersion(6, 1))
    #expect(KernelVersion(release: "5.17") == KernelVersion(5, 17))
    #expect(KernelVersion(release: "5.16.20") < KernelVersion(5, 17))
    #expect(KernelVersion(release: "10.0-rc1") > KernelVersion(6, 18))
    #expect(KernelVersion(release: "unknown") == KernelVersion(0, 0))
    #expect(KernelVersion.current > KernelVersion(2, 6))
  }

  @Test("Few files are not worth it, and a file system in memory is none that is known")
  func few() throws {
    let folder = try TemporaryFolder()
    #expect(!GroupFlush(try Descriptor.openFolder(folder.path)).run(files: 7))
    let memory = try TemporaryFolder(in: "/dev/shm")
    #expect(!GroupFlush(try Descriptor.openFolder(memory.path)).run(files: 1000))
  }

  @Test("Eight files are, where a flush of all is known to be one")
  func many() throws {
    let folder = try TemporaryFolder()
    let flush = GroupFlush(try Descriptor.openFolder(folder.path), isKnown: true)
    #expect(!flush.serves(files: 7) && flush.serves(files: 8))
    #expect(flush.run(files: 8))
  }

  @Test("A file that was written well has no error to tell, before and after a flush of all")
  func written() throws {
    let folder = try TemporaryFolder()
    let file = try Descriptor.open(
      folder.appending("a"), flags: O_WRONLY | O_CREAT, mode: 0o600)
    try file.write(Array("bytes".utf8))
    try file.startWriting()
    try file.writePages()
    _ = GroupFlush(try Descriptor.openFolder(folder.path)).run(files: 8)
    try file.writePages()
  }
}
