import PipelineModel

extension OptionSchema {
  struct Visit {
    let root: JSONValue
    var errors: [ConfigurationError] = []
    private var patterns: [String: SchemaPattern] = [:]
    /// The remaining steps of patterns for all strings together.
    private var budget = 10_000_000

    init(root: JSONValue) { self.root = root }

    private mutating func report(
      _ code: ConfigurationError.Code, _ message: String, at pointer: String
    ) {
      errors.append(ConfigurationError(code: code, message: message, pointer: pointer))
    }

    /// Checks a value recursively.
    mutating func check(_ value: JSONValue, against schema: JSONValue, at pointer: String) {
      let schema = resolved(schema, in: root)
      let subject = JSONPointer.subject(pointer)
      if schema.bool == false {
        return report(.badValue, "\(subject) is not allowed here.", at: pointer)
      }
      guard checkType(of: value, schema, at: pointer) else { return }
      checkChoice(value, schema, at: pointer)
      switch value {
      case .object(let members): checkObject(members, schema, at: pointer)
      case .array(let elements): checkArray(elements, schema, at: pointer)
      case .string(let text): checkText(text, schema, at: pointer)
      case .integer, .number: checkNumber(value, schema, at: pointer)
      case .null, .bool: break
      }
    }

    private mutating func checkType(
      of value: JSONValue, _ schema: JSONValue, at pointer: String
    ) -> Bool {
      guard let type = schema["type"] else { return true }
      let allowed = (type.array ?? [type]).compactMap { $0.string.flatMap(SchemaType.init) }
      let actual = value.schemaType
      if allowed.contains(actual) || actual == .integer && allowed.contains(.number) {
        return true
      }
      let expected = alternatives(allowed.map(\.wording))
      var message = "\(JSONPointer.subject(pointer)) must be \(expected), but is \(actual.wording)"
      if value.object == nil, value.array == nil, value != .null { message += ": \(value.wording)" }
      report(.wrongType, message + ".", at: pointer)
      return false
    }

    private mutating func checkChoice(_ value: JSONValue, _ schema: JSONValue, at pointer: String) {
      let choices = schema["enum"]?.array ?? schema["const"].map { [$0] }
      guard let choices, !choices.contains(where: { $0.means(value) }) else { return }
      var message = "\(JSONPointer.subject(pointer)) is \(value.wording); "
      message += "allowed: \(alternatives(choices.map(\.wording)))"
      if let text = value.string,
        let near = NearestName.find(text, among: choices.compactMap(\.string))
      {
        message += "; did you mean \(quoted(near))?"
      } else {
        message += "."
      }
      report(.badValue, message, at: pointer)
    }

    private mutating func checkObject(
      _ members: [String: JSONValue], _ schema: JSONValue, at pointer: String
    ) {
      let known = schema["properties"]?.object ?? [:]
      let rest = schema["additionalProperties"]
      for (key, member) in members.sorted(by: { $0.key < $1.key }) {
        let place = JSONPointer.appending(key, to: pointer)
        if let schema = known[key] {
          check(member, against: schema, at: place)
        } else if rest?.bool == false {
          // Don't suggest keys that are present.
          let missing = known.keys.filter { members[$0] == nil }
          let hint =
            NearestName.find(key, among: missing.sorted()).map { "; did you mean \(quoted($0))?" }
            ?? NearestName.hint(key, among: known.keys.sorted(), kind: "keys")
          report(.unknownKey, "Unknown key \(quoted(key))\(hint)", at: place)
        } else if let rest {
          check(member, against: rest, at: place)
        }
      }
      for key in (schema["required"]?.array ?? []).compactMap(\.string) where members[key] == nil {
        let owner = JSONPointer.subject(pointer)
        report(.missingKey, "\(owner) needs the key \(quoted(key)).", at: pointer)
      }
    }

    private mutating func checkArray(
      _ elements: [JSONValue], _ schema: JSONValue, at pointer: String
    ) {
      let subject = JSONPointer.subject(pointer)
      if let least = schema["minItems"]?.integer, elements.count < least {
        let lack =
          least == 1
          ? "must not be empty" : "has \(elements.count) elements; at least \(least) are needed"
        report(.badValue, "\(subject) \(lack).", at: pointer)
      }
      if let most = schema["maxItems"]?.integer, elements.count > most {
        report(
          .badValue, "\(subject) has \(elements.count) elements; at most \(most) are allowed.",
          at: pointer)
      }
      if let schema = schema["items"] {
        for (index, element) in elements.enumerated() {
          check(element, against: schema, at: JSONPointer.appending(index, to: pointer))
        }
      }
      if schema["uniqueItems"]?.bool == true {
        checkDistinct(elements.map { ($0, "") }, subject, at: pointer)
      }
      if let key = schema["x-uniqueBy"]?.string {
        checkDistinct(elements.map { ($0[key], key) }, subject, at: pointer)
      }
    }

    private mutating func checkDistinct(
      _ values: [(value: JSONValue?, key: String)], _ subject: String, at pointer: String
    ) {
      var first: [JSONValue: Int] = [:]
      for (index, (value, key)) in values.enumerated() {
        guard let value else { continue }
        guard let earlier = first.updateValue(index, forKey: value.canonical) else { continue }
        var place = JSONPointer.appending(index, to: pointer)
        if !key.isEmpty { place = JSONPointer.appending(key, to: place) }
        let what = key.isEmpty ? value.wording : "\(quoted(key)) \(value.wording)"
        report(.badValue, "\(subject) has \(what) twice, at \(earlier) and at \(index).", at: place)
      }
    }

    private mutating func checkText(_ text: String, _ schema: JSONValue, at pointer: String) {
      let subject = JSONPointer.subject(pointer)
      let length = text.unicodeScalars.count
      if let least = schema["minLength"]?.integer, length < least {
        let message =
          length == 0
          ? "\(subject) is empty."
          : "\(subject) is \(quoted(text)), \(length) characters; at least \(least) are needed."
        report(.badValue, message, at: pointer)
      } else if let most = schema["maxLength"]?.integer, length > most {
        report(
          .badValue, "\(subject) has \(length) characters; at most \(most) are allowed.",
          at: pointer)
      } else if let pattern = schema["pattern"]?.string {
        checkPattern(pattern, of: text, schema, at: pointer)
      }
    }

    private mutating func checkPattern(
      _ pattern: String, of text: String, _ schema: JSONValue, at pointer: String
    ) {
      let subject = JSONPointer.subject(pointer)
      switch isFound(pattern, in: text) {
      case true?:
        return
      case nil:
        report(
          .badValue, "\(subject) is too long to be compared with the pattern \(quoted(pattern)).",
          at: pointer)
      case false?:
        let expected = schema["x-expected"]?.string ?? "a string that matches \(quoted(pattern))"
        let code: ConfigurationError.Code =
          switch schema["x-kind"]?.string {
          case "duration": .badDuration
          case "size": .badSize
          default: .badValue
          }
        report(code, "\(subject) is \(quoted(text)); expected \(expected).", at: pointer)
      }
    }

    private mutating func isFound(_ pattern: String, in text: String) -> Bool? {
      do throws(SchemaPatternError) {
        let compiled =
          if let known = patterns[pattern] { known } else { try SchemaPattern(pattern) }
        patterns[pattern] = compiled
        return compiled.isFound(in: text, budget: &budget)
      } catch {
        // The schema was already rejected because of this pattern.
        return false
      }
    }

    private mutating func checkNumber(_ value: JSONValue, _ schema: JSONValue, at pointer: String) {
      guard let number = value.double else { return }
      let subject = JSONPointer.subject(pointer)
      if let least = schema["minimum"], let bound = least.double, number < bound {
        report(
          .badValue, "\(subject) is \(value.wording); the minimum allowed is \(least.wording).",
          at: pointer)
      }
      if let most = schema["maximum"], let bound = most.double, number > bound {
        report(
          .badValue, "\(subject) is \(value.wording); the maximum allowed is \(most.wording).",
          at: pointer)
      }
    }
  }
}

/// A value of the keyword `type`.
enum SchemaType: String {
  case object, array, string, number, integer, boolean, null

  /// The type in messages: `a string`.
  var wording: String {
    switch self {
    case .object: "an object"
    case .array: "a list"
    case .string: "a string"
    case .number: "a number"
    case .integer: "a whole number"
    case .boolean: "true or false"
    case .null: "null"
    }
  }
}

extension JSONValue {
  /// The narrowest type of the value.
  var schemaType: SchemaType {
    switch self {
    case .object: .object
    case .array: .array
    case .string: .string
    case .integer: .integer
    case .number(let value): value.rounded() == value ? .integer : .number
    case .bool: .boolean
    case .null: .null
    }
  }

  /// The value in messages: `“fast”`, `12`, `a list`.
  var wording: String {
    switch self {
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let value): quoted(value)
    case .null, .array, .object: schemaType.wording
    }
  }
}
