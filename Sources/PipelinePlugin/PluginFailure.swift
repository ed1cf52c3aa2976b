/// Why a job failed.
public struct PluginFailure: Error, Hashable, Sendable, Encodable {
  /// The cause of a failure, which decides when to retry.
  public enum Class: String, Hashable, Sendable, Encodable {
    /// This runtime can't process these bytes with these options.
    case permanent
    /// No space, an I/O error or a timeout: a retry may succeed.
    case transient
    /// The machine lacks something; no file is to blame.
    case environment
  }

  /// The cause of the failure.
  public var `class`: Class
  /// A sentence for the user.
  public var reason: String

  /// Creates a failure.
  public init(_ class: Class, _ reason: String) {
    self.class = `class`
    self.reason = reason
  }
}
