import Glibc
import Records
import Synchronization

/// A value that one thread uses at a time.
final class SerialAccess<Value>: Sendable {
  /// Not a serial queue of Dispatch: most bodies take microseconds, for which a mutex waits without
  /// putting the thread to sleep.
  private let mutex = Mutex(())
  /// The thread that is in a body; 0 if none is.
  private let inside = Atomic<UInt>(0)
  // Safe because only the holder of the mutex uses it.
  private nonisolated(unsafe) let value: Value

  init(_ value: sending Value) { self.value = value }

  /// Whether the calling thread is in a body: no other thread stores its own identity, and it takes that back.
  private var isInside: Bool { inside.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Runs a body once no other thread is in one; traps if the caller is in one.
  func sync<Output>(_ body: (Value) throws(CatalogError) -> Output) throws(CatalogError) -> Output {
    // Only a programming error leads here, and would deadlock. `fatalError`, because release builds
    // omit the message of `precondition`.
    if isInside { fatalError("The catalog's methods can't be called from within one another.") }
    return try run(body)
  }

  /// Runs a body once no other thread is in one, at once if the caller is in one.
  func syncReentrantly<Output>(
    _ body: (Value) throws(CatalogError) -> Output
  ) throws(CatalogError) -> Output {
    isInside ? try body(value) : try run(body)
  }

  private func run<Output>(
    _ body: (Value) throws(CatalogError) -> Output
  ) throws(CatalogError) -> Output {
    try mutex.withLock { _ -> Result<Output, CatalogError> in
      inside.store(UInt(pthread_self()), ordering: .relaxed)
      defer { inside.store(0, ordering: .relaxed) }
      do throws(CatalogError) { return .success(try body(value)) } catch { return .failure(error) }
    }.get()
  }
}
