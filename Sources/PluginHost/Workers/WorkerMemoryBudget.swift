package import PipelineModel
import Synchronization

/// Keeps the memory of all workers together within the budget for all jobs.
///
/// When they exceed it, the largest idle worker is ended or, if none is idle, the largest of all.
package final class WorkerMemoryBudget: Sendable {
  private struct Entry {
    var bytes = 0
    var isIdle = false
    /// Ends the worker; called with the bytes that all workers used.
    let end: @Sendable (ByteSize) -> Void
  }

  private struct State {
    var last = 0
    var entries: [Int: Entry] = [:]
  }

  /// The bytes that all workers may use together.
  package let most: ByteSize
  private let state = Mutex(State())

  /// Creates a pool without workers.
  package init(most: ByteSize) { self.most = most }

  /// Adds an instance, which uses nothing yet.
  ///
  /// - Parameter end: ends the instance's worker; called with the bytes that all workers used.
  /// - Returns: a number for `note` and `remove`.
  func add(_ end: @escaping @Sendable (ByteSize) -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      state.entries[state.last] = Entry(end: end)
      return state.last
    }
  }

  func remove(_ number: Int) { state.withLock { $0.entries[number] = nil } }

  /// Records a worker's memory use, and ends a worker if all together exceed the budget.
  func note(_ number: Int, bytes: Int, isIdle: Bool) {
    let victim = state.withLock { state -> (end: @Sendable (ByteSize) -> Void, used: Int)? in
      state.entries[number]?.bytes = bytes
      state.entries[number]?.isIdle = isIdle
      let used = state.entries.values.reduce(0) { $0 + $1.bytes }
      guard used > most.bytes else { return nil }
      let candidates = state.entries.filter { $0.value.bytes > 0 }
      let idle = candidates.filter(\.value.isIdle)
      let largest = (idle.isEmpty ? candidates : idle).max { $0.value.bytes < $1.value.bytes }
      // A worker on its own has its own limit.
      guard let largest, candidates.count > 1 else { return nil }
      // Its memory is about to be freed, so don't end a second one for it.
      state.entries[largest.key]?.bytes = 0
      return (largest.value.end, used)
    }
    // Called after the lock is released.
    if let victim { victim.end(ByteSize(bytes: victim.used)) }
  }
}
