import Dispatch

/// A value that is used on one serial queue only.
final class SerialAccess<Value>: Sendable {
  private let queue: DispatchQueue
  private let key = DispatchSpecificKey<Bool>()
  // Unsafe only in name, because `value` is touched by blocks of the serial queue alone.
  private nonisolated(unsafe) let value: Value

  init(label: String, _ value: sending Value) {
    queue = DispatchQueue(label: label)
    self.value = value
    queue.setSpecific(key: key, value: true)
  }

  /// Whether the caller is on the queue.
  private var isInside: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Runs a body on the queue and waits for it; traps if the caller is on the queue already.
  func sync<Output>(
    _ body: (Value) throws(CatalogError) -> Output
  ) throws(CatalogError) -> Output {
    // No input leads here, only a mistake in this program, which would wait for itself for ever.
    // Not `precondition`, whose sentence is left out of release builds.
    if isInside { fatalError("The catalog's methods can't be called from within one another.") }
    return try run(body)
  }

  /// Runs a body on the queue, at once if the caller is there already.
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
