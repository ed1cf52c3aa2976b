import Dispatch

/// A value confined to one serial queue.
final class SerialAccess<Value>: Sendable {
  private let queue: DispatchQueue
  private let key = DispatchSpecificKey<Bool>()
  // Safe because only blocks on the serial queue access `value`.
  private nonisolated(unsafe) let value: Value

  init(label: String, _ value: sending Value) {
    queue = DispatchQueue(label: label)
    self.value = value
    queue.setSpecific(key: key, value: true)
  }

  private var isInside: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Runs a body on the queue and waits for it; traps if the caller is on the queue.
  func sync<Output>(_ body: (Value) throws(CatalogError) -> Output) throws(CatalogError) -> Output {
    // Only a programming error leads here, and would deadlock. `fatalError`, because release builds
    // omit the message of `precondition`.
    if isInside { fatalError("The catalog's methods can't be called from within one another.") }
    return try run(body)
  }

  /// Runs a body on the queue, directly if the caller is on it.
  func syncReentrantly<Output>(
    _ body: (Value) throws(CatalogError) -> Output
  ) throws(CatalogError) -> Output {
    isInside ? try body(value) : try run(body)
  }

  private func run<Output>(
    _ body: (Value) throws(CatalogError) -> Output
  ) throws(CatalogError) -> Output {
    try queue.sync { () -> Result<Output, CatalogError> in
      do throws(CatalogError) { return .success(try body(value)) } catch { return .failure(error) }
    }.get()
  }
}
