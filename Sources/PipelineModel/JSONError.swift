/// Why a text can't be read as JSON.
public struct JSONError: Error, Hashable, Sendable {
  /// The kind of problem.
  public enum Code: String, Hashable, Sendable {
    /// The text is not JSON (RFC 8259), or not UTF-8.
    case syntax
    /// Arrays and objects are nested too deep for the reader.
    case tooDeep
    /// The text has too many values for the reader.
    case tooMany
  }

  /// The kind of problem.
  public var code: Code
  /// A sentence that says what is wrong and what was found instead.
  public var message: String
  /// The byte offset.
  public var offset: Int

  init(_ code: Code, _ message: String, offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension JSONError: CustomStringConvertible {
  /// The message and the offset.
  public var description: String { "\(message) (at byte \(offset))" }
}
