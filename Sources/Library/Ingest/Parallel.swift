import Dispatch
import Synchronization

extension Array where Element: Sendable {
  /// Maps with one thread per processor; keeps the order.
  package func concurrentMap<Result: Sendable>(
    _ transform: @Sendable (Element) -> Result
  ) -> [Result] {
    if count < 2 { return map(transform) }
    let results = Mutex([Result?](repeating: nil, count: count))
    DispatchQueue.concurrentPerform(iterations: count) { index in
      let result = transform(self[index])
      results.withLock { $0[index] = result }
    }
    // Every index was visited.
    return results.withLock { $0.compactMap { $0 } }
  }
}
