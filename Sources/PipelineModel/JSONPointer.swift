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
