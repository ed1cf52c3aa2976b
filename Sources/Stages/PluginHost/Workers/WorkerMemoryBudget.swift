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

  /// The bytes that all workers may use together.
  package let most: ByteSize
  private let entries = Mutex<[Int: Entry]>([:])

  /// Creates a pool without workers.
  package init(most: ByteSize) { self.most = most }

  /// Adds an instance, which uses nothing yet.
  ///
  /// - Parameters:
  ///   - number: identifies the instance.
  ///   - end: ends the instance's worker; called with the bytes that all workers used.
  func add(_ number: Int, _ end: @escaping @Sendable (ByteSize) -> Void) {
    entries.withLock { $0[number] = Entry(end: end) }
  }

  func remove(_ number: Int) { entries.withLock { $0[number] = nil } }

  /// Records a worker's memory use, and ends a worker if all together exceed the budget.
  func note(_ number: Int, bytes: Int, isIdle: Bool) {
    let victim = entries.withLock { entries -> (end: @Sendable (ByteSize) -> Void, used: Int)? in
      entries[number]?.bytes = bytes
      entries[number]?.isIdle = isIdle
      let used = entries.values.reduce(0) { $0 + $1.bytes }
      guard used > most.bytes else { return nil }
      let candidates = entries.filter { $0.value.bytes > 0 }
      let idle = candidates.filter(\.value.isIdle)
      let largest = (idle.isEmpty ? candidates : idle).max { $0.value.bytes < $1.value.bytes }
      // A worker on its own has its own limit.
      guard let largest, candidates.count > 1 else { return nil }
      // Its memory is about to be freed, so don't end a second one for it.
      entries[largest.key]?.bytes = 0
      return (largest.value.end, used)
    }
    // Called after the lock is released.
    if let victim { victim.end(ByteSize(bytes: victim.used)) }
  }
}
