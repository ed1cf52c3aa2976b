/// What a reader of JSON found in a text.
public struct JSONDocument: Hashable, Sendable {
  /// A key that an object has more than once.
  public struct Duplicate: Hashable, Sendable {
    /// The place of its value, as a JSON pointer (RFC 6901).
    public var pointer: String
    /// The key, without escapes.
    public var key: String
    /// Where the key is once more, in bytes from the beginning.
    public var offset: Int
  }

  /// The value; of a key that an object has twice, the last counts.
  public var value: JSONValue
  /// Where each value begins, by its pointer, in bytes from the beginning; empty unless recorded.
  public var offsets: [String: Int]
  /// Keys that are there twice; empty unless recorded.
  public var duplicates: [Duplicate]
}
