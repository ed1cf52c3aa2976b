import Synchronization

/// A call that waits for its turn and its result until its task is cancelled.
final class CancellableCall<Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, LibraryError>

  private struct State {
    /// The caller, while it waits.
    var caller: CheckedContinuation<Outcome, Never>?
    var hasBegun = false
    var isCancelled = false
  }

  private let state = Mutex(State())

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Lets a caller wait.
  ///
  /// - Returns: `false` if its task is cancelled already; it has its answer then.
  func wait(_ caller: CheckedContinuation<Outcome, Never>) -> Bool {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.caller = caller }
      return state.isCancelled
    }
    if isCancelled { caller.resume(returning: .failure(.cancelled)) }
    return !isCancelled
  }

  /// Whether the call is still wanted, now that it is its turn.
  func begin() -> Bool {
    state.withLock { state in
      state.hasBegun = true
      return !state.isCancelled
    }
  }

  /// Answers the caller.
  func end(_ outcome: Outcome) {
    let caller = state.withLock { state in
      defer { state.caller = nil }
      return state.caller
    }
    caller?.resume(returning: outcome)
  }

  /// Answers a caller whose turn has not come; a call that has begun ends by `isCancelled`.
  func cancel() {
    let waiting = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
      state.isCancelled = true
      guard !state.hasBegun else { return nil }
      defer { state.caller = nil }
      return state.caller
    }
    waiting?.resume(returning: .failure(.cancelled))
  }
}
