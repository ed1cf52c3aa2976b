package import PipelineModel
package import Records

/// A running job, for progress reports.
package struct RunningJob: Sendable {
  /// The stage's name.
  package let stage: String
  /// The original's file name.
  package let name: BytePath
  /// When it started.
  package let since: ContinuousClock.Instant
  /// Its time limit.
  package let limit: TimeSpan
}

/// Receives the engine's events, on the engine's own queue.
package protocol EngineReport: AnyObject, Sendable {
  /// A job ended, and its outcome is on disk.
  func job(_ event: JobEvent)
  /// A stage is held for the rest of this run: its plugin is unusable, or the machine lacks
  /// something.
  func held(stage: String, plugin: String, reason: String)
  /// A message for the user that is not a job's outcome.
  func warning(_ message: String)
  /// The engine can't continue; see `Engine.failure`.
  func failed()
  /// A line of a plugin's log.
  func log(stage: String, message: String)
}

extension EngineReport {
  package func failed() {}
}

/// An error that prevents all stages from running.
package struct EngineError: Error, Sendable {
  package enum Code: Hashable, Sendable {
    /// A plugin can't be loaded.
    case plugin
    /// The ledger can't be read or written.
    case ledger
    /// A file operation failed.
    case file
  }

  package var code: Code
  /// A sentence that says what to do.
  package var message: String
  /// The underlying error.
  package var cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  init(ledger error: CatalogError) {
    self.init(.ledger, error.message, cause: error)
  }
}
