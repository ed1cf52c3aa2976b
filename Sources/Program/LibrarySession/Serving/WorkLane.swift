import Dispatch
import Files
import Synchronization

/// Threads that do pieces of work in the order of their arrival; only so many may wait.
///
/// Not those of Dispatch: the work may block for long.
final class WorkLane: Sendable {
  typealias Work = @Sendable () -> Void

  private struct Piece {
    var number: Int?
    var work: Work
  }

  private struct State {
    var waiting: [Piece] = []
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

  /// - Parameter number: takes the work back, if given.
  /// - Returns: whether there was room.
  func submit(as number: Int? = nil, _ work: @escaping Work) -> Bool {
    let isAccepted = state.withLock { state in
      guard state.waiting.count < mostWaiting + state.idle else { return false }
      state.waiting.append(Piece(number: number, work: work))
      return true
    }
    if isAccepted { arrivals.signal() }
    return isAccepted
  }

  /// Takes work back, which is not done then.
  ///
  /// - Returns: `false` if it has been begun, or is not known.
  func withdraw(_ number: Int) -> Bool {
    state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { $0.number == number }) else {
        return false
      }
      state.waiting.remove(at: index)
      return true
    }
  }

  private func run() {
    while true {
      arrivals.wait()
      let piece = state.withLock { state -> Piece? in
        state.idle -= 1
        // What was taken back has no work any more, but was counted.
        return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
      }
      piece?.work()
      state.withLock { $0.idle += 1 }
    }
  }
}
