import Files
import Glibc
import Ingest
import PipelineModel

/// The way of a verb to a library that it wants to change: by its own hands
/// where the library is free, else by those of the process that works on it.
struct LibraryAccess {
  private let library: ConfiguredLibrary
  private let deadline: ContinuousClock.Instant

  /// Validates the configuration and finds the library.
  ///
  /// - Parameters:
  ///   - makesLibrary: whether a missing library is made.
  ///   - patience: how long to wait for the lock at least, whatever the command line says.
  init(
    _ context: Context, makesLibrary: Bool, patience: Duration = .seconds(2)
  ) throws {
    library = try ConfiguredLibrary(context, makesLibrary: makesLibrary)
    // Another verb of a moment, which listens to nobody, is waited for unasked.
    deadline = ContinuousClock().now + max(try context.wait().duration, patience)
  }

  /// Does work on the library.
  ///
  /// - Parameters:
  ///   - here: does it in this process, which has the lock.
  ///   - there: has it done by another; `nil` means that it was not begun.
  /// - Throws: `IngestError` of code `locked` if another process keeps the lock and
  ///   takes no requests.
  func perform<Result>(
    here: (LockedLibrary) throws -> Result, there: (Holder) throws -> Result?
  ) throws -> Result {
    while true {
      if let lock = try library.found.attemptLock() {
        return try here(LockedLibrary(library, lock: lock))
      }
      if let holder = try Holder(of: library.found), let result = try there(holder) {
        return result
      }
      guard ContinuousClock().now < deadline else { throw library.found.lockedError }
      usleep(50_000)
    }
  }
}
