import Fixtures
import PipelineModel

/// Makes lines that a plugin may say: sound ones, sound ones that were changed, and ones made to
/// hurt.
enum MessageGenerator {
  static func next(_ random: inout SeededRandom) -> [UInt8] {
    if random.once(in: 2000) { return monster(&random) }
    var line = Array(JSONTextOfAnything.write(message(&random)).utf8)
    if random.once(in: 4) {
      for _ in 0..<(1 << random.below(5)) { change(&line, &random) }
    }
    return line
  }

  // MARK: Messages

  private static func message(_ random: inout SeededRandom) -> JSONValue {
    switch random.below(12) {
    case 0...4:
      return ["type": "manifest", "protocol": 1, "manifest": manifest(&random)]
    case 5...8:
      return ["type": "result", "job": "1", "result": result(&random)]
    case 9:
      return ["type": "failed", "failure": failure(&random)]
    case 10:
      let bytes = (0..<random.below(20)).map { _ in anything(&random, 2) }
      return ["type": "estimates", "bytes": .array(bytes)]
    default:
      return .object([
        "type": .string(
          random.any(of: ["log", "progress", "limit", "created", "unsupported", "hello", ""])),
        "message": text(&random), "level": text(&random), "fraction": anything(&random, 1),
        "cpu": anything(&random, 1),
      ])
    }
  }

  private static func manifest(_ random: inout SeededRandom) -> JSONValue {
    var members: [String: JSONValue] = [
      "id": "evil", "version": "1", "outputVersion": 1, "scope": "original", "runtime": "",
      "facts": [], "makesRenditions": true, "estimates": false,
    ]
    let options = schema(&random, 5).object ?? [:]
    members["options"] = .object(options.merging(["type": "object"]) { $1 })
    if random.once(in: 4) { members["accepts"] = .array([text(&random), "image/*"]) }
    spoil(&members, &random)
    return .object(members)
  }

  private static func result(_ random: inout SeededRandom) -> JSONValue {
    switch random.below(6) {
    case 0: return ["outcome": "failed", "failure": failure(&random)]
    case 1: return ["outcome": "skipped", "reason": text(&random)]
    default:
      let renditions = (0..<random.below(4)).map { _ in rendition(&random) }
      var members: [String: JSONValue] = [
        "outcome": "done", "facts": .object(object(&random, 4)), "renditions": .array(renditions),
      ]
      spoil(&members, &random)
      return .object(members)
    }
  }

  private static func rendition(_ random: inout SeededRandom) -> JSONValue {
    var members: [String: JSONValue] = [
      "name": "a", "path": "a.png", "mediaType": "image/png", "width": 1, "height": 1,
    ]
    if random.once(in: 2) { members["path"] = random.any(of: paths) }
    spoil(&members, &random)
    return .object(members)
  }

  private static let paths: [JSONValue] = [
    "../x", "/etc/passwd", "a/../../x", "a\0.png", "", ".", "a//b", "a/", "a\n", "..\0", "%2e%2e",
  ]

  private static func failure(_ random: inout SeededRandom) -> JSONValue {
    ["class": .string(random.any(of: ["permanent", "transient", "odd"])), "reason": text(&random)]
  }

  /// Gives one of the members another value now and then.
  private static func spoil(_ members: inout [String: JSONValue], _ random: inout SeededRandom) {
    guard random.once(in: 3), let key = members.keys.sorted().randomElement(using: &random) else {
      return
    }
    members[key] = random.once(in: 3) ? nil : anything(&random, 3)
  }

  // MARK: Schemas

  private static let keywords = [
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems",
    "maxItems", "uniqueItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "$ref",
    "$defs", "default", "x-uniqueBy", "title", "anyOf",
  ]
  private static let names = ["a", "b", "c", "d", "name"]

  static func schema(_ random: inout SeededRandom, _ depth: Int) -> JSONValue {
    var members: [String: JSONValue] = [:]
    for _ in 0..<(1 + random.below(5)) {
      let keyword = random.any(of: keywords)
      members[keyword] = value(of: keyword, &random, depth)
    }
    return .object(members)
  }

  private static func value(
    of keyword: String, _ random: inout SeededRandom, _ depth: Int
  ) -> JSONValue {
    if depth <= 0 || random.once(in: 30) { return anything(&random, 2) }
    switch keyword {
    case "type":
      return .string(random.any(of: ["object", "array", "string", "number", "integer", "boolean"]))
    case "properties", "$defs":
      var children: [String: JSONValue] = [:]
      for _ in 0..<random.below(4) { children[random.any(of: names)] = schema(&random, depth - 1) }
      return .object(children)
    case "items", "additionalProperties":
      return random.once(in: 4) ? false : schema(&random, depth - 1)
    case "pattern": return .string(pattern(&random))
    case "$ref": return .string("#/$defs/" + random.any(of: names))
    case "required", "enum": return .array((0..<random.below(4)).map { _ in text(&random) })
    case "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum":
      return random.any(of: numbers)
    case "uniqueItems": return .bool(random.once(in: 2))
    default: return anything(&random, 3)
    }
  }

  private static let pieces = [
    "a", "b", "(", ")", "(?:", "[", "]", "[^", "a-z", "*", "+", "?", "{1,1000}", "{2}", "{9,}", "|",
    "^",
    "$", ".", "\\d", "\\W", "\\b", "\\u{1F600}", "\\x4", "\\p{L}", "(?=", "(?<n>", "\\1", "{", "}",
    "é",
    "(a+)+", "(a|a)*", "(.*)*", "((a?){3}){3}", "\u{0}", "\\",
  ]

  static func pattern(_ random: inout SeededRandom) -> String {
    if random.once(in: 50) {
      return String(repeating: random.any(of: pieces), count: random.below(2000))
    }
    return (0..<random.below(12)).map { _ in random.any(of: pieces) }.joined()
  }

  // MARK: Values

  private static let numbers: [JSONValue] = [
    0, 1, -1, 2, 80, 0.5, 1e300, -1e300, .integer(.max), .integer(.min), 1e-300, 4_294_967_296,
  ]
  private static let texts = [
    "", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "\u{1B}[31m", "\u{202E}x", "\0", "é\u{301}", "😀",
    "image/png", "a/b/c", "../..", "\r\n", "\u{9B}1m", "\u{FEFF}", "“”", "#/$defs/a",
  ]

  private static func text(_ random: inout SeededRandom) -> JSONValue {
    let text = random.any(of: texts)
    if random.once(in: 40) { return .string(String(repeating: text, count: random.below(3000))) }
    return .string(text)
  }

  static func object(_ random: inout SeededRandom, _ depth: Int) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    for _ in 0..<random.below(5) {
      let key = random.once(in: 4) ? text(&random).string ?? "" : random.any(of: names)
      members[key] = anything(&random, depth - 1)
    }
    return members
  }

  static func anything(_ random: inout SeededRandom, _ depth: Int) -> JSONValue {
    switch random.below(depth > 0 ? 9 : 6) {
    case 0: return .null
    case 1: return .bool(random.once(in: 2))
    case 2, 3: return random.any(of: numbers)
    case 4, 5: return text(&random)
    case 6: return .array((0..<random.below(5)).map { _ in anything(&random, depth - 1) })
    default: return .object(object(&random, depth))
    }
  }

  // MARK: Bytes

  private static func change(_ line: inout [UInt8], _ random: inout SeededRandom) {
    guard !line.isEmpty else { return line.append(0x7B) }
    let at = random.below(line.count)
    let end = min(line.count, at + 1 + random.below(40))
    switch random.below(7) {
    case 0: line[at] ^= 1 << UInt8(random.below(8))
    case 1: line[at] = UInt8(random.below(256))
    case 2: line.removeSubrange(at..<end)
    case 3: line.insert(contentsOf: Array(line[at..<end]), at: at)
    case 4: line.insert(random.any(of: Array("{}[]\",:\\u0-eE".utf8)), at: at)
    case 5: line.replaceSubrange(at..<end, with: random.any(of: fragments))
    default: line.removeSubrange(end...)
    }
  }

  private static let fragments = [
    "1e999", "-0", "\\ud800", "\\u0000", "[[[[", "{\"a\":", "NaN", "\u{FEFF}",
    "99999999999999999999",
    "true", "null", "\"", "\\\"", "1.", ".5", "01", "/*", "\u{7F}",
  ].map { Array($0.utf8) }

  // MARK: Monsters

  /// As large as a line may be, and a little more, in a way that could cost the most.
  private static func monster(_ random: inout SeededRandom) -> [UInt8] {
    let size = random.any(of: [1 << 16, 1 << 18, (1 << 20) - 4096, (1 << 20) + 10])
    func wrap(_ text: String) -> String {
      #"{"type":"result","job":"1","result":{"outcome":"done","facts":{"a":\#(text)}}}"#
    }
    func schema(_ text: String) -> String {
      #"{"type":"manifest","protocol":1,"manifest":{"id":"evil","version":"1","outputVersion":1,"#
        + #""scope":"original","facts":[],"makesRenditions":true,"estimates":false,"runtime":"","#
        + #""options":{"type":"object",\#(text)}}}"#
    }
    func repeated(_ text: String, _ separator: String = ",") -> String {
      let count = max(1, size / (text.utf8.count + separator.utf8.count) - 1)
      return Array(repeating: text, count: count).joined(separator: separator)
    }
    func numbered(_ text: (Int) -> String, _ length: Int) -> String {
      (0..<max(1, size / length)).map(text).joined(separator: ",")
    }
    let long = String(repeating: "k", count: size / 2)
    let texts: [() -> String] = [
      { repeated("[", "") }, { wrap(repeated("[", "")) }, { wrap("[\(repeated("0"))]") },
      { wrap("[\(repeated("{}"))]") }, { wrap("[\(repeated("\"\""))]") },
      { wrap("\"\(repeated("\\u001b", ""))\"") }, { wrap(repeated("9", "")) },
      { wrap("0.\(repeated("0", ""))1") }, { wrap("1e\(repeated("9", ""))") },
      { "{\(numbered({ #""a\#($0)":1"# }, 12))}" }, { "{\(repeated(#""a":1"#))}" },
      { #"{"type":"estimates","bytes":[\#(repeated("0"))]}"# },
      { #"{"type":"log","message":"\#(long)"}"# },
      {
        let reason = repeated("\\u202e", "")
        return #"{"type":"failed","failure":{"class":"transient","reason":"\#(reason)"}}"#
      },
      { schema(#""enum":[\#(repeated("0"))]"#) },
      {
        let inner = numbered({ #""a\#($0)":{}"# }, 40)
        return schema(#""properties":{"\#(long)":{"properties":{\#(inner)}}}"#)
      },
      { schema(#""properties":{\#(numbered({ #""k\#($0)":{"anyOf":[]}"# }, 24))}"#) },
      {
        let patterns = numbered({ #""k\#($0)":{"pattern":"(a{1,40}){1,40}"}"# }, 250)
        return schema(#""properties":{\#(patterns)}"#)
      },
      {
        let site = { (number: Int) in #""k\#(number)":{"$ref":"\#("#")/$defs/d"}"# }
        let inside = (0..<3000).map { #""d\#($0)":{"default":{"x":[1,2]}}"# }.joined(separator: ",")
        let definition = #""$defs":{"d":{"properties":{\#(inside)},"default":{}}}"#
        return schema(#"\#(definition),"properties":{\#(numbered(site, 200))}"#)
      },
      {
        var inner = #"{"type":"object"}"#
        for _ in 0..<18 {
          inner = #"{"properties":{"a":{"type":"array","default":[{},{}],"items":\#(inner)}}}"#
        }
        return schema(#""items":\#(inner)"#)
      },
      {
        var (inner, value) = (#""type":"object""#, "{}")
        for _ in 0..<25 {
          inner = #""properties":{"a":{\#(inner),"default":\#(value)}}"#
          value = #"{"a":\#(value)}"#
        }
        return schema(inner)
      },
      { schema(#""required":[\#(numbered({ #""r\#($0)""# }, 12))]"#) },
      { schema(#""pattern":"\#(repeated("(", ""))""#) },
      { schema(#""default":[\#(repeated("[]"))]"#) },
    ]
    return Array(random.any(of: texts)().utf8)
  }
}

/// JSON of any value, also of numbers that an encoder refuses.
enum JSONTextOfAnything {
  static func write(_ value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let text): quoted(text)
    case .array(let elements): "[" + elements.map(write).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\(write($0.value))" }
        .joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\0"..<" ":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
