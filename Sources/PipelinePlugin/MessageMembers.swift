import PipelineModel

/// Why what a plugin said is not what it ought to be.
package struct MessageError: Error, Hashable, Sendable {
  /// A clause such as “id” is no text.
  package let message: String

  init(_ message: String) { self.message = message }
}

/// The members of an object that a plugin wrote, each of the type that it must have.
struct MessageMembers {
  private let members: [String: JSONValue]

  /// - Parameter name: what the object is, for the error that it is none.
  init(_ value: JSONValue?, _ name: String) throws(MessageError) {
    guard let members = value?.object else { throw MessageError("\(quoted(name)) is no object") }
    self.members = members
  }

  /// A member of any type; `nil` where there is none, or `null`.
  subscript(key: String) -> JSONValue? { members[key] == .null ? nil : members[key] }

  func text(_ key: String) throws(MessageError) -> String {
    guard let text = members[key]?.string else { throw MessageError("\(quoted(key)) is no text") }
    return text
  }

  func whole(_ key: String) throws(MessageError) -> Int {
    guard let number = members[key]?.integer else {
      throw MessageError("\(quoted(key)) is no whole number")
    }
    return number
  }

  func number(_ key: String) throws(MessageError) -> Double {
    guard let number = members[key]?.double else {
      throw MessageError("\(quoted(key)) is no number")
    }
    return number
  }

  func truth(_ key: String) throws(MessageError) -> Bool {
    guard let truth = members[key]?.bool else {
      throw MessageError("\(quoted(key)) is neither true nor false")
    }
    return truth
  }

  func list(_ key: String) throws(MessageError) -> [JSONValue] {
    guard let list = members[key]?.array else { throw MessageError("\(quoted(key)) is no list") }
    return list
  }

  func texts(_ key: String) throws(MessageError) -> [String] {
    var texts: [String] = []
    for element in try list(key) {
      guard let text = element.string else {
        throw MessageError("\(quoted(key)) is no list of texts")
      }
      texts.append(text)
    }
    return texts
  }

  /// One of a few words.
  func choice<Word: RawRepresentable<String>>(_ key: String) throws(MessageError) -> Word {
    let text = try text(key)
    guard let word = Word(rawValue: text) else {
      throw MessageError("\(quoted(key)) is \(quoted(text)), which is none of its words")
    }
    return word
  }
}
