import Configuration
import Engine
package import Files
import Glibc
package import Ingest
package import LibraryControl
package import PipelineModel

/// Gives a verb write access to a library: directly if its lock is free,
/// otherwise through the process that holds the lock.
package struct LibraryAccess {
  private let library: ConfiguredLibrary
  private let deadline: ContinuousClock.Instant

  /// - Parameters:
  ///   - wait: the longest wait for the lock that the user allows.
  ///   - patience: how long to wait in any case.
  package init(_ library: ConfiguredLibrary, wait: Duration, patience: Duration = .seconds(2)) {
    self.library = library
    // Short-lived verbs open no control socket, so always wait briefly.
    deadline = ContinuousClock().now + max(wait, patience)
  }

  /// Performs work on the library.
  ///
  /// - Parameters:
  ///   - locally: performs it in this process, which has the lock.
  ///   - remotely: hands it to the holder; returns `nil` if it was not begun.
  /// - Throws: `IngestError` of code `locked` if another process keeps the lock and
  ///   accepts no requests.
  package func perform<Result>(
    locally: (LockedLibrary) throws -> Result, remotely: (ControlClient) throws -> Result?
  ) throws -> Result {
    while true {
      if let locked = try library.attemptLock() { return try locally(locked) }
      if let client = try ControlClient(of: library.found), let result = try remotely(client) {
        return result
      }
      guard ContinuousClock().now < deadline else { throw library.found.lockedError }
      usleep(50_000)
    }
  }

  /// Performs a request here or in the process that holds the library; reports its files and jobs.
  package func perform(
    _ request: LibraryRequest, output: any SessionOutput, signals: SignalHandler = .shared
  ) throws -> RequestResult {
    try perform { locked in
      let session = try WorkingSession(locked, output: output, signals: signals)
      signals.listen()
      do {
        let result = try RequestHandler(session).perform(request, report: session.report) {
          signals.isStopRequested
        }
        if case .repair = request { try makeAgain(session) }
        try session.library.close()
        return result
      } catch {
        session.giveUp()
        throw error
      }
    } remotely: { client in
      try client.ask(request, report: RunReport(output))
    }
  }

  /// Records what an interrupted process had taken, unless another one has the lock and has done so.
  package func recover(
    output: any SessionOutput, signals: SignalHandler = .shared
  ) throws {
    try perform { locked in
      signals.listen()
      let library = try IngestLibrary(
        locked.library.found, lock: locked.lock, reserve: locked.library.setup.reserve(),
        report: RunReport(output)
      ) { signals.isStopRequested }
      try library.close()
    } remotely: { _ in
      ()
    }
  }

  /// Runs the jobs that a repair made due; a holder runs them anyway.
  private func makeAgain(_ session: WorkingSession) throws {
    defer { session.engine.close() }
    try session.engine.drain { session.signals.isStopRequested }
    guard session.signals.isStopRequested else { return }
    session.engine.stop(deadline: ContinuousClock().now + .seconds(8))
  }
}

/// A library with a valid configuration, not locked.
///
/// The configuration is fully validated before the library is touched.
package struct ConfiguredLibrary {
  /// Where the configuration was found, and is found again after a change.
  let search: ConfigurationSearch
  let setup: LibrarySetup
  let plan: StagePlan
  package let found: LibraryFolder

  /// Validates the configuration and finds the library.
  ///
  /// - Parameter makesLibrary: whether to make a missing library.
  package init(_ search: ConfigurationSearch, makesLibrary: Bool) throws {
    self.search = search
    setup = try LibrarySetup(search)
    try setup.requireOwn()
    plan = try setup.plan()
    try setup.checkCatalogFolder()
    found =
      makesLibrary
      ? try LibraryFolder.openOrMake(setup.layout, configuration: setup.configuration.file)
      : try LibraryFolder.open(setup.layout)
    try setup.checkFileSystem()
  }

  /// Takes the lock; waits for it as long as `wait`, or until a signal.
  ///
  /// - Throws: `IngestError` of code `locked` if another process keeps the lock.
  package func lock(
    wait: TimeSpan = TimeSpan(milliseconds: 0), signals: SignalHandler = .shared
  ) throws -> LockedLibrary {
    LockedLibrary(library: self, lock: try found.lock(wait: wait) { signals.isStopRequested })
  }

  /// Takes the lock, or returns `nil` if another process holds it.
  func attemptLock() throws -> LockedLibrary? {
    try found.attemptLock().map { LockedLibrary(library: self, lock: $0) }
  }
}

/// A library that this process has locked, with a valid configuration; nothing
/// in the library was read or changed yet.
package struct LockedLibrary {
  package let library: ConfiguredLibrary
  package let lock: FileLock

  /// The same with the configuration as it is now.
  func reloaded() throws -> LockedLibrary {
    let new = try ConfiguredLibrary(library.search, makesLibrary: false)
    let (old, now) = (library.setup.layout, new.setup.layout)
    guard old.root == now.root, old.catalogPlace == now.catalogPlace else {
      throw SessionError(
        .otherLibrary,
        "The configuration now names another library or catalog; that requires a restart.")
    }
    return LockedLibrary(library: new, lock: lock)
  }
}
