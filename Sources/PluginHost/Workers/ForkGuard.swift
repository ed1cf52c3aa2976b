import Files
import Glibc
import PipelineModel
import Sandbox
import Synchronization

/// Answers workers that ask to create threads or processes, on a thread that lives as long as the
/// program.
///
/// Nothing here blocks, because all workers may be waiting for it.
final class ForkGuard: Sendable {
  static let shared = ForkGuard()

  private struct State {
    var watched: [Int32: ForkCount] = [:]
    var isRefused = false
  }

  /// Whether the machine refused to let a worker ask.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  private let thread = PollingThread("a guard's pipe")
  private let state = Mutex(State())

  private init() {}

  /// Starts the thread unless it is running.
  func begin() throws(FileError) { try thread.begin { [self] in round($0) } }

  func add(_ count: ForkCount) {
    state.withLock { $0.watched[count.worker] = count }
    thread.wake()
  }

  func remove(_ count: ForkCount) {
    state.withLock { state in
      if state.watched[count.worker] === count { state.watched[count.worker] = nil }
    }
    thread.wake()
  }

  private func round(_ wait: PollingThread.Wait) {
    let asking = state.withLock { Array($0.watched.values) }
      .compactMap { count in count.descriptor.map { (count, $0) } }
    let events = wait(for: asking.map(\.1))
    for ((count, _), events) in zip(asking, events) where events != 0 {
      let isRefused = count.answer(hasQuestion: events & POLLIN != 0)
      if isRefused { state.withLock { $0.isRefused = true } }
    }
  }
}

/// Counts a worker's threads and processes precisely enough to answer its requests.
final class ForkCount: Sendable {
  private enum Stage {
    /// The worker has not sent its listener yet.
    case waiting(ForkRequests)
    case asking(ForkRequests)
    /// The worker can't be listened to.
    case over
  }

  private struct State {
    var stage: Stage
    /// How many may be created before the next count.
    var room = (threads: 0, processes: 0)
    var hasRefused = (threads: false, processes: false)
    var refusedAt: ContinuousClock.Instant?
  }

  /// The worker's process group.
  let worker: Int32
  private let limits: WorkerLimits
  private let state: Mutex<State>

  /// No recount for this long after a refusal, so that endless requests cost nothing.
  private static let pause = Duration.milliseconds(10)

  init(_ worker: Int32, _ limits: WorkerLimits, _ questions: ForkRequests) {
    self.worker = worker
    self.limits = limits
    state = Mutex(State(stage: .waiting(questions)))
  }

  /// The descriptor to poll, or `nil`.
  var descriptor: Descriptor? {
    switch state.withLock({ $0.stage }) {
    case .waiting(let questions), .asking(let questions): questions.descriptor
    case .over: nil
    }
  }

  /// Returns and clears whether threads or processes were refused since the last call.
  func consumeRefusals() -> (threads: Bool, processes: Bool) {
    state.withLock { state in
      defer { state.hasRefused = (false, false) }
      return state.hasRefused
    }
  }

  /// Handles an event on the worker's descriptor.
  ///
  /// - Parameter hasQuestion: whether there is something to read; if not, the worker is gone.
  /// - Returns: whether the machine refuses to let the worker be listened to.
  func answer(hasQuestion: Bool) -> Bool {
    switch state.withLock({ $0.stage }) {
    case .waiting(let questions):
      let word = hasQuestion ? questions.receiveMessage() : nil
      state.withLock { state in
        if case .listener(let listener)? = word {
          state.stage = .asking(listener)
        } else {
          state.stage = .over
        }
      }
      // A worker that ended before this point proves nothing about the machine.
      if case .refused? = word { return true }
      return false
    case .asking(let questions):
      if hasQuestion {
        questions.answer { allows($0) }
      } else {
        state.withLock { $0.stage = .over }
      }
      return false
    case .over: return false
    }
  }

  private func allows(_ kind: ForkRequests.Kind) -> Bool {
    if reserve(kind) { return true }
    let now = ContinuousClock().now
    if let refusedAt = state.withLock({ $0.refusedAt }), now - refusedAt < Self.pause {
      return false
    }
    let usage = ProcessUsage.count(group: worker, mayFork: limits.processes > 1)
    state.withLock { state in
      state.room.threads = max(0, limits.threads - usage.threads)
      state.room.processes = max(0, limits.processes - usage.processes)
    }
    if reserve(kind) { return true }
    state.withLock { state in
      state.refusedAt = now
      switch kind {
      case .thread: state.hasRefused.threads = true
      case .process: state.hasRefused.processes = true
      }
    }
    return false
  }

  /// Takes room for a thread, or for a process and its first thread.
  private func reserve(_ kind: ForkRequests.Kind) -> Bool {
    state.withLock { state in
      guard state.room.threads > 0, kind == .thread || state.room.processes > 0 else {
        return false
      }
      state.room.threads -= 1
      if kind == .process { state.room.processes -= 1 }
      return true
    }
  }
}
