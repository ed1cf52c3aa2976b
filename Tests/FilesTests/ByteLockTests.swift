import Files
import Fixtures
import PipelineModel
import Synchronization
import Testing

@Suite("Locks of bytes", .timeLimit(.minutes(1)))
struct ByteLockTests {
  @Test("A byte is locked once, others at the same time, and again when it is free")
  func once() throws {
    let temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    var first = try ByteLock.attempt(7, of: "lock", in: folder)
    #expect(first != nil)
    #expect(try ByteLock.attempt(7, of: "lock", in: folder) == nil)
    let other = try ByteLock.attempt(1 << 62, of: "lock", in: folder)
    #expect(other != nil)
    withExtendedLifetime(first) {}
    first = nil
    first = try ByteLock.attempt(7, of: "lock", in: folder)
    #expect(first != nil)
    withExtendedLifetime((first, other)) {}
  }

  @Test("Who waits has it once it is free")
  func waiting() async throws {
    let temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    let holders = Mutex((now: 0, most: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await withCheckedThrowingContinuation {
            (done: CheckedContinuation<Void, any Error>) in
            do throws(FileError) {
              try DedicatedThread.start {
                done.resume(
                  with: Result {
                    let lock = try ByteLock.wait(for: 3, of: "lock", in: folder)
                    holders.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    holders.withLock { $0.now -= 1 }
                    withExtendedLifetime(lock) {}
                  })
              }
            } catch {
              done.resume(throwing: error)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(holders.withLock { $0.most } == 1)
  }
}
