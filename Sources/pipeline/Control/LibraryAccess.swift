import Files
import Glibc
import Ingest
import PipelineModel

/// Gives a verb write access to a library: directly if its lock is free,
/// otherwise through the process that holds the lock.
struct LibraryAccess {
  private let library: ConfiguredLibrary
  private let deadline: ContinuousClock.Instant

  /// Validates the configuration and finds the library.
  ///
  /// - Parameters:
  ///   - makesLibrary: whether to make a missing library.
  ///   - patience: the minimum time to wait for the lock, whatever `--wait` says.
  init(
    _ context: Context, makesLibrary: Bool, patience: Duration = .seconds(2)
  ) throws {
    library = try ConfiguredLibrary(context, makesLibrary: makesLibrary)
    // Short-lived verbs open no control socket, so always wait briefly.
    deadline = ContinuousClock().now + max(try context.wait().duration, patience)
  }

  /// Performs work on the library.
  ///
  /// - Parameters:
  ///   - locally: performs it in this process, which has the lock.
  ///   - remotely: hands it to the holder; returns `nil` if it was not begun.
  /// - Throws: `IngestError` of code `locked` if another process keeps the lock and
  ///   accepts no requests.
  func perform<Result>(
    locally: (LockedLibrary) throws -> Result, remotely: (ControlClient) throws -> Result?
  ) throws -> Result {
    while true {
      if let lock = try library.found.attemptLock() {
        return try locally(LockedLibrary(library, lock: lock))
      }
      if let client = try ControlClient(of: library.found), let result = try remotely(client) {
        return result
      }
      guard ContinuousClock().now < deadline else { throw library.found.lockedError }
      usleep(50_000)
    }
  }
}
