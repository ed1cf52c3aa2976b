import Dispatch
import Files
import Synchronization

/// Threads that do pieces of work in the order of their arrival; only so many may wait.
///
/// Not those of Dispatch: the work may block for long.
final class WorkLane: Sendable {
  typealias Work = @Sendable () -> Void

  private struct State {
    var waiting: [Work] = []
    /// How many threads are idle.
    var idle: Int
  }

  private let mostWaiting: Int
  private let state: Mutex<State>
  private let arrivals = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - width: how many threads there are, until the process ends.
  ///   - mostWaiting: how many pieces may wait for a thread.
  init(width: Int, mostWaiting: Int) throws(FileError) {
    self.mostWaiting = mostWaiting
    state = Mutex(State(idle: width))
    for _ in 0..<width { try DedicatedThread.start { [self] in run() } }
  }

  /// - Returns: whether there was room.
  func submit(_ work: @escaping Work) -> Bool {
    let isAccepted = state.withLock { state in
      guard state.waiting.count < mostWaiting + state.idle else { return false }
      state.waiting.append(work)
      return true
    }
    if isAccepted { arrivals.signal() }
    return isAccepted
  }

  private func run() {
    while true {
      arrivals.wait()
      let work = state.withLock { state -> Work? in
        state.idle -= 1
        return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
      }
      work?()
      state.withLock { $0.idle += 1 }
    }
  }
}
