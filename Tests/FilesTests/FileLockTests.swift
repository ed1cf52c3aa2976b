import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@Suite("Locks", .timeLimit(.minutes(1)))
struct FileLockTests {
  let temporary: TemporaryFolder
  let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
  }

  /// Another process that holds the lock until its input ends.
  private func otherHolder() throws -> (process: Process, input: Pipe) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    process.arguments = [
      "--exclusive", "\(temporary.appending("lock"))", "sh", "-c", "echo held; cat",
    ]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let word = try #require(try output.fileHandleForReading.read(upToCount: 4))
    #expect(String(decoding: word, as: UTF8.self) == "held")
    return (process, input)
  }

  @Test("A lock is had once, and names the process that has it")
  func once() throws {
    #expect(try !FileLock.isHeld("lock", in: folder))
    #expect(FileLock.holder("lock", in: folder) == nil)
    var lock = try FileLock.attempt("lock", in: folder)
    #expect(lock != nil)
    #expect(try FileLock.attempt("lock", in: folder) == nil)
    #expect(try FileLock.isHeld("lock", in: folder))
    #expect(FileLock.holder("lock", in: folder) == Int(getpid()))
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(try !FileLock.isHeld("lock", in: folder))
    #expect(try FileLock.attempt("lock", in: folder) != nil)
  }

  @Test("A lock file that is removed lets nobody else in")
  func removedFile() throws {
    var lock = try FileLock.attempt("lock", in: folder)
    #expect(lock != nil)
    try folder.remove("lock")
    #expect(try FileLock.attempt("lock", in: folder) == nil)
    #expect(try FileLock.isHeld("lock", in: folder))
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(try FileLock.attempt("lock", in: folder) != nil)
  }

  @Test("A lock of another process is respected, and goes with that process")
  func otherProcess() throws {
    let (process, input) = try otherHolder()
    #expect(try FileLock.attempt("lock", in: folder) == nil)
    #expect(try FileLock.isHeld("lock", in: folder))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(try !FileLock.isHeld("lock", in: folder))
    let lock = try FileLock.attempt("lock", in: folder)
    #expect(lock != nil)
    // The other way round.
    let second = Process()
    second.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    second.arguments = ["--nonblock", "\(temporary.appending("lock"))", "true"]
    try second.run()
    second.waitUntilExit()
    #expect(second.terminationStatus != 0)
    withExtendedLifetime(lock) {}
  }

  @Test("Asking whether a lock is held makes no file")
  func asking() throws {
    #expect(try !FileLock.isHeld("lock", in: folder))
    #expect(try folder.entries().isEmpty)
  }

  @Test("A lock is not taken through a link")
  func link() throws {
    try #require(symlink("other", "\(temporary.appending("lock"))") == 0)
    #expect(throws: FileError.self) { try FileLock.attempt("lock", in: folder) }
    #expect(try folder.entries().map(\.name) == ["lock"])
  }
}
