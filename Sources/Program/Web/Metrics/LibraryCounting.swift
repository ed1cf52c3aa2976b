import Ingest
import LibrarySession
import Synchronization

/// Counts the library for `metrics`, no more often than it helps, and once for all who ask at the same time.
final class LibraryCounting: Sendable {
  typealias Counted = (counts: LibraryCounts, age: Duration)
  typealias Completion = @Sendable (Result<Counted, any Error>) -> Void

  private struct Waiting {
    var deadline: ContinuousClock.Instant
    var completion: Completion
  }

  private struct State {
    var kept = KeptCounts<LibraryCounts, SharedLibrary.Version>()
    var isCounting = false
    var waiting: [Waiting] = []
  }

  private let shared: SharedLibrary
  private let pool: QueryPool
  private let state = Mutex(State())

  init(_ shared: SharedLibrary, _ pool: QueryPool) {
    self.shared = shared
    self.pool = pool
  }

  /// Tells the counts, and how old they are if something changed since.
  ///
  /// - Parameter completion: called on any thread, after `QueryPool.longPatience` at the latest.
  func ask(completion: @escaping Completion) {
    let version: SharedLibrary.Version
    do {
      version = try shared.version
    } catch {
      return completion(.failure(error))
    }
    let now = ContinuousClock.now
    let (shown, isFirst) = state.withLock { state -> (Counted?, Bool) in
      if let shown = state.kept.shown(at: version, now: now) { return (shown, false) }
      state.waiting.append(
        Waiting(deadline: now + QueryPool.longPatience, completion: completion))
      defer { state.isCounting = true }
      return (nil, !state.isCounting)
    }
    if let shown { completion(.success(shown)) }
    if isFirst { count(version) }
  }

  /// Counts if the next one who asks should not have to wait for that, and tells who waited for too long; to be
  /// called every second or so.
  func tick() {
    let now = ContinuousClock.now
    let version = try? shared.version
    let (late, isDue) = state.withLock { state -> ([Waiting], Bool) in
      let late = state.waiting.filter { $0.deadline <= now }
      state.waiting.removeAll { $0.deadline <= now }
      guard let version, !state.isCounting, state.kept.isDue(at: version, now: now) else {
        return (late, false)
      }
      state.isCounting = true
      return (late, true)
    }
    for one in late { one.completion(.failure(HTTPError.slow)) }
    if isDue, let version { count(version) }
  }

  /// - Parameter version: that of the library, read before.
  private func count(_ version: SharedLibrary.Version) {
    pool.ask(within: QueryPool.countPatience) { library in
      let begun = ContinuousClock.now
      let counts = try LibraryCounts(of: library.catalog)
      return (counts: counts, begun: begun)
    } completion: { [self] result in
      let waiting = state.withLock { state -> [Waiting] in
        if case .success(let (counts, begun)) = result {
          state.kept.keep(counts, of: version, begun: begun, now: .now)
        }
        state.isCounting = false
        defer { state.waiting = [] }
        return state.waiting
      }
      let isCurrent = (try? shared.version) == version
      let answer = result.map { counted -> Counted in
        (counted.counts, isCurrent ? .zero : ContinuousClock.now - counted.begun)
      }
      for one in waiting { one.completion(answer) }
    }
  }
}
