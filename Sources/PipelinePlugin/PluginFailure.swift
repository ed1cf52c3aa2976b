/// Why a job could not be done.
public struct PluginFailure: Error, Hashable, Sendable, Encodable {
  /// What the failure depends on, and so when trying again makes sense.
  public enum Class: String, Hashable, Sendable, Encodable {
    /// These bytes can't be worked on by this runtime with these options.
    case permanent
    /// No space, an I/O error, a timeout: later it may work.
    case transient
    /// The machine lacks something; no file is to blame.
    case environment
  }

  /// What the failure depends on.
  public var `class`: Class
  /// A sentence for people.
  public var reason: String

  /// Makes a failure.
  public init(_ class: Class, _ reason: String) {
    self.class = `class`
    self.reason = reason
  }
}
