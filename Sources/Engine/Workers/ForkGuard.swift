import Files
import Glibc
import PipelineModel
import Sandbox
import Synchronization

/// Answers workers that want to make threads or processes, on a thread that lives as long as the program.
///
/// Nothing here waits for anybody, as all workers may be waiting for this.
final class ForkGuard: Sendable {
  static let shared = ForkGuard()

  private struct State {
    /// What the thread is woken by; `nil` until there is one.
    var wakeup: PipeEnds?
    var watched: [Int32: ForkCount] = [:]
    var hasFailed = false
  }

  /// Whether a worker that locked itself in could not be listened to.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  private let state = Mutex(State())

  private init() {}

  /// Starts the thread, unless it runs.
  func begin() throws(FileError) {
    if state.withLock({ $0.wakeup != nil }) { return }
    let wakeup = try PipeEnds("a guard's pipe")
    for end in [wakeup.reading, wakeup.writing] { try end.setNonBlocking() }
    let isFirst = state.withLock { state in
      defer { state.wakeup = state.wakeup ?? wakeup }
      return state.wakeup == nil
    }
    guard isFirst else { return }
    do throws(FileError) {
      try DedicatedThread.start { [self] in while true { next(wakeup.reading) } }
    } catch {
      state.withLock { $0.wakeup = nil }
      throw error
    }
  }

  /// Answers a worker from now on.
  func add(_ count: ForkCount) {
    state.withLock { $0.watched[count.worker] = count }
    wake()
  }

  /// Forgets a worker that is gone.
  func remove(_ count: ForkCount) {
    state.withLock { state in
      if state.watched[count.worker] === count { state.watched[count.worker] = nil }
    }
    wake()
  }

  private func wake() {
    // A pipe that is full wakes as well.
    if let pipe = state.withLock({ $0.wakeup }) { _ = try? pipe.writing.writeSome([0]) }
  }

  // Not inlined: what is made within a loop without an end is never released.
  // Source: github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func next(_ reading: Descriptor) {
    let asking = state.withLock { Array($0.watched.values) }.filter { $0.descriptor != nil }
    // Kept open until poll(2) returns.
    let descriptors = [reading] + asking.compactMap(\.descriptor)
    var polled = descriptors.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    guard poll(&polled, nfds_t(polled.count), -1) > 0 else { return }
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      // What is in it says nothing but that there are others to be asked.
      _ = try? reading.readSome(into: buffer)
    }
    for (count, entry) in zip(asking, polled.dropFirst()) where entry.revents != 0 {
      let hasBegun = count.answer(hasQuestion: entry.revents & Int16(POLLIN) != 0)
      if hasBegun == false { state.withLock { $0.hasFailed = true } }
    }
    withExtendedLifetime(descriptors) {}
  }
}

/// How many threads and processes a worker has, as far as it has to be known to answer it.
final class ForkCount: Sendable {
  private enum Stage {
    /// The worker has not said yet where its questions arrive.
    case waiting(ForkQuestions)
    case asking(ForkQuestions)
    /// It can't be listened to.
    case over
  }

  private struct State {
    var stage: Stage
    /// How many may be made before it has to be counted again.
    var room = (threads: 0, processes: 0)
    var hasRefused = (threads: false, processes: false)
    var refusedAt: ContinuousClock.Instant?
  }

  /// The number of the worker's group.
  let worker: Int32
  private let limits: WorkerLimits
  private let state: Mutex<State>

  /// After a refusal nothing is counted for so long: who asks without end is not listened to.
  private static let pause = Duration.milliseconds(10)

  init(_ worker: Int32, _ limits: WorkerLimits, _ questions: ForkQuestions) {
    self.worker = worker
    self.limits = limits
    state = Mutex(State(stage: .waiting(questions)))
  }

  /// What is to be polled; `nil` if nothing is.
  var descriptor: Descriptor? {
    switch state.withLock({ $0.stage }) {
    case .waiting(let questions), .asking(let questions): questions.descriptor
    case .over: nil
    }
  }

  /// Whether more threads or processes were asked for than may be, since it was asked last.
  func takeRefusals() -> (threads: Bool, processes: Bool) {
    state.withLock { state in
      defer { state.hasRefused = (false, false) }
      return state.hasRefused
    }
  }

  /// Deals with what the worker said.
  ///
  /// - Parameter hasQuestion: whether it said anything; else it is gone.
  /// - Returns: once, whether it can be listened to.
  func answer(hasQuestion: Bool) -> Bool? {
    switch state.withLock({ $0.stage }) {
    case .waiting(let questions):
      let listener = hasQuestion ? questions.takeListener() : nil
      state.withLock { $0.stage = listener.map { .asking($0) } ?? .over }
      // One that ended before it came so far says nothing of the machine.
      return listener != nil || ProcessUsage.of(process: worker) == nil
    case .asking(let questions):
      if hasQuestion {
        questions.answer { allows($0) }
      } else {
        state.withLock { $0.stage = .over }
      }
      return nil
    case .over: return nil
    }
  }

  private func allows(_ kind: ForkQuestions.Kind) -> Bool {
    if take(kind) { return true }
    let now = ContinuousClock().now
    if let refusedAt = state.withLock({ $0.refusedAt }), now - refusedAt < Self.pause {
      return false
    }
    let usage = ProcessUsage.count(group: worker, mayFork: limits.processes > 1)
    state.withLock { state in
      state.room.threads = max(0, limits.threads - usage.threads)
      state.room.processes = max(0, limits.processes - usage.processes)
    }
    if take(kind) { return true }
    state.withLock { state in
      state.refusedAt = now
      switch kind {
      case .thread: state.hasRefused.threads = true
      case .process: state.hasRefused.processes = true
      }
    }
    return false
  }

  /// Takes room for a thread, or for a process, which has one.
  private func take(_ kind: ForkQuestions.Kind) -> Bool {
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
