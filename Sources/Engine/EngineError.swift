package import PipelineModel

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
  /// The file or folder concerned, if any.
  package var path: BytePath?
  /// The underlying error.
  package var cause: (any Error)?

  package init(
    _ code: Code, _ message: String, path: BytePath? = nil, cause: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }
}
