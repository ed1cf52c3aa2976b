/// Why a text names no place, such as a bucket or a database.
public struct LocationFault: Error, Hashable, Sendable {
  /// The end of a sentence that begins with what the text is.
  public let reason: String

  /// Creates a fault from its reason.
  package init(reason: String) { self.reason = reason }
}
