package import PipelineModel
import Synchronization

/// What all workers use of memory together, so that it is no more than all jobs may need together.
///
/// Where it is more, one of them is ended: the largest of those that have nothing to do, or else the
/// largest of all.
package final class MemoryPool: Sendable {
  private struct Entry {
    var bytes = 0
    var isIdle = false
    /// Called with what all used.
    let end: @Sendable (ByteSize) -> Void
  }

  private struct State {
    var last = 0
    var entries: [Int: Entry] = [:]
  }

  /// What they may use together.
  package let most: ByteSize
  private let state = Mutex(State())

  /// Makes a pool without workers.
  package init(most: ByteSize) { self.most = most }

  /// Adds a lane, which uses nothing yet.
  ///
  /// - Parameter end: ends its worker; called with what all used.
  /// - Returns: a number for `note` and `remove`.
  func add(_ end: @escaping @Sendable (ByteSize) -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      state.entries[state.last] = Entry(end: end)
      return state.last
    }
  }

  /// Forgets a lane.
  func remove(_ number: Int) { state.withLock { $0.entries[number] = nil } }

  /// Takes note of what a lane's worker uses, and has one ended where that is too much for all.
  func note(_ number: Int, bytes: Int, isIdle: Bool) {
    let victim = state.withLock { state -> (end: @Sendable (ByteSize) -> Void, used: Int)? in
      state.entries[number]?.bytes = bytes
      state.entries[number]?.isIdle = isIdle
      let used = state.entries.values.reduce(0) { $0 + $1.bytes }
      guard used > most.bytes else { return nil }
      let candidates = state.entries.filter { $0.value.bytes > 0 }
      let idle = candidates.filter(\.value.isIdle)
      let largest = (idle.isEmpty ? candidates : idle).max { $0.value.bytes < $1.value.bytes }
      // One that is alone has a limit of its own.
      guard let largest, candidates.count > 1 else { return nil }
      // It is about to be gone, and the next to be looked at is not to go as well.
      state.entries[largest.key]?.bytes = 0
      return (largest.value.end, used)
    }
    // Called out after the lock is released.
    if let victim { victim.end(ByteSize(bytes: victim.used)) }
  }
}
