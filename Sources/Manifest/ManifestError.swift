package import Files
package import PipelineModel

/// Why the journal could not be read or written.
package struct ManifestError: Error, Hashable, Sendable {
  package enum Code: Hashable, Sendable {
    /// The file system refused; `cause` says why.
    case file
    /// A line that is not the last one is damaged, or lines are missing.
    case damaged
    /// A line was written by a later version of the program.
    case newerVersion
  }

  package var code: Code
  /// A sentence with what to do.
  package var message: String
  /// The segment.
  package var path: BytePath?
  /// The error beneath.
  package var cause: FileError?

  init(_ code: Code, _ message: String, path: BytePath? = nil) {
    self.code = code
    self.message = message
    self.path = path
  }

  init(_ cause: FileError) {
    code = .file
    message = cause.message
    path = cause.path
    self.cause = cause
  }
}
