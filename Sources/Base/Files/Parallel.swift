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

  /// Maps with several threads, however few processors there are, for work that waits for something
  /// else; keeps the order.
  package func map<Result: Sendable>(
    width: Int, _ transform: @escaping @Sendable (Element) -> Result
  ) -> [Result] {
    let width = Swift.min(width, count)
    if width < 2 { return map(transform) }
    let work = SharedWork(self, transform)
    let ended = DispatchSemaphore(value: 0)
    var threads = 0
    for _ in 1..<width {
      do throws(FileError) {
        try DedicatedThread.start {
          work.run()
          ended.signal()
        }
        threads += 1
      } catch {
        // The user's limit of threads is reached: those that there are do all of it.
        break
      }
    }
    work.run()
    for _ in 0..<threads { ended.wait() }
    return work.results
  }
}

/// Elements that several threads map.
private final class SharedWork<Element: Sendable, Value: Sendable>: Sendable {
  private let elements: [Element]
  private let transform: @Sendable (Element) -> Value
  private let state: Mutex<(next: Int, values: [Value?])>

  init(_ elements: [Element], _ transform: @escaping @Sendable (Element) -> Value) {
    self.elements = elements
    self.transform = transform
    state = Mutex((0, [Value?](repeating: nil, count: elements.count)))
  }

  /// Maps elements that no thread has begun, until there are none.
  func run() {
    while let index = next() {
      let value = transform(elements[index])
      state.withLock { $0.values[index] = value }
    }
  }

  /// Complete when all threads have ended.
  var results: [Value] { state.withLock { $0.values.compactMap { $0 } } }

  private func next() -> Int? {
    state.withLock { state in
      guard state.next < elements.count else { return nil }
      state.next += 1
      return state.next - 1
    }
  }
}
