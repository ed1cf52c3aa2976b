import Dispatch
import Files
import Synchronization

/// Starts processes, all from one thread that lives as long as this process.
///
/// A worker asks the kernel to be ended with its parent, and the kernel means the
/// thread that started it; idle threads of Dispatch end after five seconds.
final class Spawner: Sendable {
  private typealias Work = @Sendable () -> Void

  static let shared = Spawner()

  private let waiting = Mutex<[Work]>([])
  private let filled = DispatchSemaphore(value: 0)
  private let isRunning = Mutex(false)

  private init() {}

  /// Starts the thread, with the first process.
  private func begin() throws(FileError) {
    let result = isRunning.withLock { isRunning in
      Result { () throws(FileError) in
        if isRunning { return }
        try DedicatedThread.start { [self] in run() }
        isRunning = true
      }
    }
    try result.get()
  }

  private func run() {
    while true { startNext() }
  }

  // Not inlined: what is made within a loop without an end is never released.
  // Source: github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func startNext() {
    filled.wait()
    let work = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    work?()
  }

  /// Starts a process; takes as long as the kernel does, a few milliseconds.
  func start(_ start: ChildProcess.Start) throws(FileError) -> ChildProcess {
    try begin()
    let result = Mutex<Result<ChildProcess, FileError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    waiting.withLock { waiting in
      waiting.append {
        let started = Result { () throws(FileError) in try ChildProcess.start(start) }
        result.withLock { $0 = started }
        done.signal()
      }
    }
    filled.signal()
    done.wait()
    guard let started = result.withLock({ $0 }) else {
      throw FileError(.other, "The thread that starts processes gave no answer.", path: nil)
    }
    return try started.get()
  }
}
