/// The result of reading a JSON text.
public struct JSONDocument: Hashable, Sendable {
  /// A key that an object repeats.
  public struct Duplicate: Hashable, Sendable {
    /// The JSON pointer (RFC 6901) of its value.
    public var pointer: String
    /// The key, without escapes.
    public var key: String
    /// The byte offset of the repeated key.
    public var offset: Int
  }

  /// The value; of duplicate keys, the last counts.
  public var value: JSONValue
  /// The byte offset of each value by its pointer; empty unless recorded.
  public var offsets: [String: Int]
  /// Duplicate keys; empty unless recorded.
  public var duplicates: [Duplicate]
}
