import PipelineModel

/// Why a library can't be served.
package struct ServingError: Error, Hashable, Sendable {
  package enum Code: String, Sendable {
    /// Options that contradict each other, or what they name can't be used.
    case usage
    /// The address can't be listened on.
    case address
    /// The process that answers requests is missing, or ended.
    case server
  }

  package let code: Code
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    // It quotes the command line, which may contain control characters.
    self.message = BytePath(message).printable
  }
}
