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

/// Why a text can't be read as JSON.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
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

  /// The message and the offset.
  public var description: String { "\(message) (at byte \(offset))" }
}

/// JSON pointers (RFC 6901) as text.
package enum JSONPointer {
  /// Appends a member's key to a pointer.
  package static func appending(_ key: String, to pointer: String) -> String {
    guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
      return pointer + "/" + key
    }
    var text = pointer + "/"
    for scalar in key.unicodeScalars {
      switch scalar {
      case "~": text += "~0"
      case "/": text += "~1"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Appends an element's index to a pointer.
  package static func appending(_ index: Int, to pointer: String) -> String {
    "\(pointer)/\(index)"
  }

  /// The unescaped keys and indexes of a pointer.
  package static func tokens(_ pointer: String) -> [String] {
    pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { token in
      var text = ""
      var rest = token.unicodeScalars[...]
      while let scalar = rest.popFirst() {
        if scalar == "~", let next = rest.first, next == "0" || next == "1" {
          text += next == "0" ? "~" : "/"
          rest = rest.dropFirst()
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
      return text
    }
  }

  /// The last key of a pointer and the indexes after it, in quotes: `“include[0]”`.
  package static func subject(_ pointer: String) -> String {
    var indexes = ""
    for token in tokens(pointer).reversed() {
      if Int(token) != nil {
        indexes = "[\(token)]" + indexes
      } else {
        return quoted(token + indexes)
      }
    }
    return indexes.isEmpty ? "The top level" : quoted(indexes)
  }
}
