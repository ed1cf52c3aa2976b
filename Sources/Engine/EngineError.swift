package import PipelineModel

/// Why no stage could run.
package struct EngineError: Error, Sendable {
  package enum Code: Hashable, Sendable {
    /// A plugin can't be loaded.
    case plugin
    /// The ledger can't be read or written.
    case ledger
    /// The file system refused.
    case file
  }

  package var code: Code
  /// A sentence with what to do.
  package var message: String
  /// The file or folder, where there is one.
  package var path: BytePath?
  /// The error beneath.
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
