import PipelineModel

/// The most items listed in a sentence.
private let mostListed = 20

/// Lists items: `“a”, “b”, “c”`, or the first ones `and 7 more`.
func listed(_ texts: [String]) -> String {
  let first = texts.prefix(mostListed).joined(separator: ", ")
  return texts.count > mostListed ? "\(first) and \(texts.count - mostListed) more" : first
}

/// Lists alternatives: `“a”, “b” or “c”`.
func alternatives(_ texts: [String]) -> String {
  guard let last = texts.last else { return "nothing" }
  if texts.count > mostListed { return "one of \(listed(texts))" }
  return texts.count == 1 ? last : texts.dropLast().joined(separator: ", ") + " or " + last
}

extension JSONValue {
  /// The value in messages: `“fast”`, `12`, `a list`.
  var wording: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let value): quoted(value)
    case .array: "a list"
    case .object: "an object"
    }
  }

  /// The type in messages: `a string`.
  var typeWording: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer: "a whole number"
    case .number(let value): Int(exactly: value) == nil ? "a number" : "a whole number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }
}
