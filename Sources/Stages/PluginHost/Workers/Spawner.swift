import Dispatch
import Files
import Synchronization

/// Starts processes from one thread that lives as long as this process.
///
/// Workers ask the kernel to be killed with their parent, and the kernel takes the thread that
/// started them for the parent; idle Dispatch threads end after five seconds.
final class Spawner: Sendable {
  private typealias Work = @Sendable () -> Void

  static let shared = Spawner()

  private let waiting = Mutex<[Work]>([])
  private let filled = DispatchSemaphore(value: 0)
  private let isRunning = Mutex(false)

  private init() {}

  private func begin() throws(FileError) {
    let result = isRunning.withLock { isRunning in
      Result { () throws(FileError) in
        if isRunning { return }
        try DedicatedThread.start { [self] in while true { startNext() } }
        isRunning = true
      }
    }
    try result.get()
  }

  // Not inlined: values created in an endless loop are never released. Source:
  // github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func startNext() {
    filled.wait()
    let work = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    work?()
  }

  /// Starts a process; blocks for as long as the kernel takes, a few milliseconds.
  func start(
    _ start: @escaping @Sendable () throws(FileError) -> ChildProcess
  ) throws(FileError) -> ChildProcess {
    try begin()
    let result = Mutex<Result<ChildProcess, FileError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    waiting.withLock { waiting in
      waiting.append {
        let started = Result(catching: start)
        result.withLock { $0 = started }
        done.signal()
      }
    }
    filled.signal()
    done.wait()
    guard let started = result.withLock({ $0 }) else {
      throw FileError(.other, "The thread that starts processes did not answer.", path: nil)
    }
    return try started.get()
  }
}
