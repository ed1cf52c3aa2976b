import Dispatch
import Files
import Ingest
import Synchronization

/// Threads that answer questions to the catalog in the order of their arrival.
///
/// Not those of Dispatch, whose monitor of threads reads `/proc`, which the sandbox refuses, and then ends the
/// process.
final class QueryLane: Sendable {
  typealias Work = @Sendable (ReadableLibrary?) -> Void

  private struct State {
    var waiting: [Work] = []
    var isClosed = false
  }

  private let width: Int
  /// Whether a library that was opened is used for good.
  private let isConfined: Bool
  private let pace: Pace
  private let open: @Sendable () -> ReadableLibrary?
  private let state = Mutex(State())
  /// Counts the questions that wait, and once more for each thread that is to end.
  private let arrivals = DispatchSemaphore(value: 0)
  private let ends = DispatchSemaphore(value: 0)

  /// How many questions may wait for their turn.
  private static let mostWaiting = 100

  /// - Parameters:
  ///   - isConfined: whether a library that was opened is used for good; by default it is opened again once
  ///     it is outdated.
  ///   - pace: bounds the threads' processor time during imports.
  ///   - open: opens the library for a thread; `nil` where there is none at the moment.
  init(
    width: Int, isConfined: Bool = false, pace: Pace,
    open: @escaping @Sendable () -> ReadableLibrary?
  ) throws(FileError) {
    self.width = width
    self.isConfined = isConfined
    self.pace = pace
    self.open = open
    for _ in 0..<width { try DedicatedThread.start { [self] in run() } }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// - Parameter work: gets `nil` if there is no room, or no catalog.
  func submit(_ work: @escaping Work) {
    let isAccepted = state.withLock { state in
      guard !state.isClosed, state.waiting.count < Self.mostWaiting else { return false }
      state.waiting.append(work)
      return true
    }
    if isAccepted { arrivals.signal() } else { work(nil) }
  }

  /// Answers those that wait without asking, and waits until the running ones have ended.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for work in waiting { work(nil) }
    for _ in 0..<width { arrivals.signal() }
    for _ in 0..<width { ends.wait() }
  }

  private func run() {
    var library: ReadableLibrary?
    while true {
      arrivals.wait()
      let (work, isClosed) = state.withLock { state in
        (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isClosed)
      }
      if let work {
        if library.map({ !isConfined && $0.isOutdated }) ?? true { library = open() }
        work(library)
        pace.wait()
      } else if isClosed {
        ends.signal()
        return
      }
    }
  }
}
