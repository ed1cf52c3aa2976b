package import Files
package import PipelineModel

/// Why the journal could not be read or written.
package struct ManifestError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The file system refused; `cause` says why.
    case file
    /// A line other than the last is damaged, or lines are missing.
    case damaged
    /// A newer version of the program wrote a line.
    case newerVersion
  }

  package var code: Code
  /// A sentence that includes the remedy.
  package var message: String
  /// The segment, or the journal's folder.
  package var path: BytePath?
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

  package var description: String { message }
}
