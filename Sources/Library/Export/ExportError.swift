package import PipelineModel

/// Why nothing, or nothing more, can be exported.
package struct ExportError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The layout can't be understood.
    case layout
    /// The destination can't be used.
    case destination
    /// Another process exports to the same folder.
    case locked
    /// The destination's disk is full.
    case noSpace
  }

  package let code: Code
  /// A sentence that says what to do.
  package let message: String
  package let path: BytePath?

  init(_ code: Code, _ message: String, path: BytePath? = nil) {
    self.code = code
    self.message = message
    self.path = path
  }

  package var description: String { message }
}
