import Glibc
import Synchronization

/// Whether an import is going on, by what changes in the catalog; and how long answers were put off by imports.
final class ImportPacing: Sendable {
  /// For threads that answer many requests each.
  let answers: Pace
  /// For threads that ask the catalog questions for one request after another.
  let questions: Pace
  private let state = State()

  init() {
    answers = Pace(state)
    questions = Pace(state)
  }

  /// Notes that the catalog has changed.
  func noteChange(now: Double = Pace.seconds(CLOCK_MONOTONIC)) {
    state.end.withLock { $0 = now + State.silence }
  }

  /// How long threads have waited, in seconds.
  var waited: Double { Double(state.waited.load(ordering: .relaxed)) / 1e6 }

  final class State: Sendable {
    /// How long after its last change to the catalog an import counts as over, in seconds.
    static let silence = 3.0
    /// The time at which the import counts as over.
    let end = Mutex(-Double.infinity)
    /// In microseconds.
    let waited = Atomic(0)
  }
}

/// Bounds the processor time of some threads while an import is going on.
///
/// Those who ask again after each answer, as programs do, then ask more rarely; people who look at pictures take
/// less than the bound. What takes long for one request is slowed down, not bounded. See `docs/decisions/0031-web.md`.
final class Pace: Sendable {
  /// The share of one processor that the threads may take together.
  static let share = 0.1
  /// The processor time that they may take at once, in seconds: a page with all its pictures.
  static let burst = 0.2
  /// The longest wait, in seconds. People may be next, so what is owed beyond it is forgotten.
  static let longest = 0.05

  private struct Allowance {
    /// Seconds of processor time that are left; negative if too much was taken.
    var left = Pace.burst
    var time: Double
    /// The processor time of each thread when it was last seen.
    var used: [pthread_t: Double] = [:]
  }

  private let state: ImportPacing.State
  private let allowance: Mutex<Allowance>

  fileprivate init(_ state: ImportPacing.State) {
    self.state = state
    allowance = Mutex(Allowance(time: -.infinity))
  }

  /// Waits if the threads took too much; returns at once without an import.
  func wait() {
    let delay = delay(
      now: Self.seconds(CLOCK_MONOTONIC), used: Self.seconds(CLOCK_THREAD_CPUTIME_ID))
    guard delay > 0 else { return }
    let microseconds = useconds_t(delay * 1e6)
    usleep(microseconds)
    state.waited.add(Int(microseconds), ordering: .relaxed)
  }

  /// Returns how long the calling thread is to wait, in seconds.
  ///
  /// - Parameter used: the thread's processor time, which is asked for during imports only.
  func delay(now: Double, used: @autoclosure () -> Double) -> Double {
    guard now < state.end.withLock({ $0 }) else { return 0 }
    let (used, thread) = (used(), pthread_self())
    let left = allowance.withLock { all in
      all.left += (now - all.time) * Self.share - (used - (all.used[thread] ?? used))
      all.left = min(Self.burst, max(all.left, -Self.longest * Self.share))
      all.time = now
      all.used[thread] = used
      return all.left
    }
    // A long wait takes less time of a processor than many short ones.
    let delay = -left / Self.share
    return delay < Self.longest / 5 ? 0 : delay
  }

  /// The time of a clock. Source: clock_gettime(2).
  static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
