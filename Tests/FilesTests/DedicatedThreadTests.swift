import Files
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("Threads that do one thing", .timeLimit(.minutes(1)))
struct DedicatedThreadTests {
  /// The signals that the thread which calls this holds back.
  private static func heldBack() -> Set<Int32> {
    var set = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return Set((1..<32).filter { sigismember(&set, $0) == 1 })
  }

  @Test("Signals to the process go to other threads, and who made it gets those that it got before")
  func signals() throws {
    let before = Self.heldBack()
    let inside = Mutex<Set<Int32>>([])
    let isDone = DispatchSemaphore(value: 0)
    try DedicatedThread.start {
      inside.withLock { $0 = Self.heldBack() }
      isDone.signal()
    }
    #expect(isDone.wait(timeout: .now() + 30) == .success)
    // Nobody can hold these back. Source: signal(7).
    #expect(inside.withLock { $0 } == Set(1..<32).subtracting([SIGKILL, SIGSTOP]))
    #expect(Self.heldBack() == before)
  }
}
