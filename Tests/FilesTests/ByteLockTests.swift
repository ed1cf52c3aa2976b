import Dispatch
import Files
import Fixtures
import Glibc
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
  func waiting() throws {
    let temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    let holders = Mutex((now: 0, most: 0, all: 0))
    DispatchQueue.concurrentPerform(iterations: 200) { _ in
      do {
        let lock = try ByteLock.wait(for: 3, of: "lock", in: folder)
        holders.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
        sched_yield()
        holders.withLock { $0.now -= 1 }
        withExtendedLifetime(lock) {}
      } catch {
        Issue.record(error)
      }
    }
    #expect(holders.withLock { $0.most == 1 && $0.all == 200 })
  }
}
