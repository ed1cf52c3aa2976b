import PipelineModel

/// Why a message from a plugin is invalid.
package struct MessageError: Error, Hashable, Sendable {
  /// A clause such as: “id” is not a string.
  package let message: String

  init(_ message: String) { self.message = message }
}

/// Typed access to the members of an object that a plugin wrote.
struct MessageMembers {
  private let members: [String: JSONValue]

  /// - Parameter name: the object's name in errors.
  init(_ value: JSONValue?, _ name: String) throws(MessageError) {
    guard let members = value?.object else {
      throw MessageError("\(quoted(name)) is not an object")
    }
    self.members = members
  }

  /// A member of any type; `nil` if it is missing or `null`.
  subscript(key: String) -> JSONValue? { members[key] == .null ? nil : members[key] }

  func text(_ key: String) throws(MessageError) -> String {
    guard let text = members[key]?.string else {
      throw MessageError("\(quoted(key)) is not a string")
    }
    return text
  }

  func whole(_ key: String) throws(MessageError) -> Int {
    guard let number = members[key]?.integer else {
      throw MessageError("\(quoted(key)) is not an integer")
    }
    return number
  }

  func number(_ key: String) throws(MessageError) -> Double {
    guard let number = members[key]?.double else {
      throw MessageError("\(quoted(key)) is not a number")
    }
    return number
  }

  func truth(_ key: String) throws(MessageError) -> Bool {
    guard let truth = members[key]?.bool else {
      throw MessageError("\(quoted(key)) is not a Boolean")
    }
    return truth
  }

  func list(_ key: String) throws(MessageError) -> [JSONValue] {
    guard let list = members[key]?.array else {
      throw MessageError("\(quoted(key)) is not an array")
    }
    return list
  }

  func texts(_ key: String) throws(MessageError) -> [String] {
    var texts: [String] = []
    for element in try list(key) {
      guard let text = element.string else {
        throw MessageError("\(quoted(key)) is not an array of strings")
      }
      texts.append(text)
    }
    return texts
  }

  func choice<Word: RawRepresentable<String>>(_ key: String) throws(MessageError) -> Word {
    let text = try text(key)
    guard let word = Word(rawValue: text) else {
      throw MessageError("\(quoted(key)) is \(quoted(text)), which is not an allowed value")
    }
    return word
  }
}
