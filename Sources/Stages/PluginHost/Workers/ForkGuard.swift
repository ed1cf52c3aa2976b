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

/// Answers one worker's requests, and counts its threads and processes for that.
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
    var allowance: ForkAllowance
  }

  /// The worker's process group.
  let worker: Int32
  private let mayFork: Bool
  private let state: Mutex<State>

  init(_ worker: Int32, _ limits: WorkerLimits, _ questions: ForkRequests) {
    self.worker = worker
    mayFork = limits.processes > 1
    state = Mutex(
      State(
        stage: .waiting(questions),
        allowance: ForkAllowance(threads: limits.threads, processes: limits.processes)))
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
    state.withLock { $0.allowance.consumeRefusals() }
  }

  /// Handles an event on the worker's descriptor.
  ///
  /// - Parameter hasQuestion: whether there is something to read; if not, the worker is gone, which
  ///   proves nothing about the machine.
  /// - Returns: whether the machine refuses to let the worker be listened to.
  func answer(hasQuestion: Bool) -> Bool {
    let stage = state.withLock { $0.stage }
    if case .asking(let questions) = stage, hasQuestion {
      questions.answer { allows($0) }
      return false
    }
    guard case .waiting(let questions) = stage, hasQuestion else {
      state.withLock { $0.stage = .over }
      return false
    }
    let word = questions.receiveMessage()
    let next: Stage = if case .listener(let listener)? = word { .asking(listener) } else { .over }
    state.withLock { $0.stage = next }
    return if case .refused? = word { true } else { false }
  }

  private func allows(_ kind: ForkRequests.Kind) -> Bool {
    if let known = state.withLock({ $0.allowance.allows(kind) }) { return known }
    let usage = ProcessUsage.count(group: worker, mayFork: mayFork)
    return state.withLock { $0.allowance.allows(kind, besides: usage) }
  }
}

/// How many threads and processes a worker may create before they must be counted again.
struct ForkAllowance: Sendable {
  private let most: (threads: Int, processes: Int)
  private var room = (threads: 0, processes: 0)
  private var hasRefused = (threads: false, processes: false)
  private var refusedAt: ContinuousClock.Instant?

  /// Not counted again for this long after a refusal, so that endless requests cost nothing.
  private static let pause = Duration.milliseconds(10)

  init(threads: Int, processes: Int) { most = (threads, processes) }

  /// Returns whether to allow a request; `nil` if that must be counted.
  mutating func allows(_ kind: ForkRequests.Kind, at now: ContinuousClock.Instant = .now) -> Bool? {
    if reserve(kind) { return true }
    if let refusedAt, now - refusedAt < Self.pause { return false }
    return nil
  }

  /// Returns whether to allow a request besides the threads and processes that there are.
  mutating func allows(
    _ kind: ForkRequests.Kind, besides usage: ProcessUsage, at now: ContinuousClock.Instant = .now
  ) -> Bool {
    room.threads = max(0, most.threads - usage.threads)
    room.processes = max(0, most.processes - usage.processes)
    if reserve(kind) { return true }
    refusedAt = now
    switch kind {
    case .thread: hasRefused.threads = true
    case .process: hasRefused.processes = true
    }
    return false
  }

  mutating func consumeRefusals() -> (threads: Bool, processes: Bool) {
    defer { hasRefused = (false, false) }
    return hasRefused
  }

  /// Takes room for a thread, or for a process and its first thread.
  private mutating func reserve(_ kind: ForkRequests.Kind) -> Bool {
    guard room.threads > 0, kind == .thread || room.processes > 0 else { return false }
    room.threads -= 1
    if kind == .process { room.processes -= 1 }
    return true
  }
}
