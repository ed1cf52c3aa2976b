import Dispatch
import Glibc
import Records
import Synchronization

/// A value confined to one serial queue.
final class SerialAccess<Value>: Sendable {
  private let queue: DispatchQueue
  /// The thread that is in a body; 0 if none is.
  ///
  /// Not a specific value of the queue: Dispatch releases those on a thread of its own, and then reads
  /// `/proc` to watch it, which ends `pipeline-web`, whose sandbox refuses that.
  private let inside = Atomic<UInt>(0)
  // Safe because only blocks on the serial queue access `value`.
  private nonisolated(unsafe) let value: Value

  init(label: String, _ value: sending Value) {
    queue = DispatchQueue(label: label)
    self.value = value
  }

  /// Whether the calling thread is in a body: no other thread stores its own identity, and it takes that back.
  private var isInside: Bool { inside.load(ordering: .relaxed) == UInt(pthread_self()) }

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
    // `sync` runs the block on the calling thread.
    try queue.sync { () -> Result<Output, CatalogError> in
      inside.store(UInt(pthread_self()), ordering: .relaxed)
      defer { inside.store(0, ordering: .relaxed) }
      do throws(CatalogError) { return .success(try body(value)) } catch { return .failure(error) }
    }.get()
  }
}
