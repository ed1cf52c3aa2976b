import FoundationEssentials

extension JSONValue {
  /// Decodes the value as `JSONDecoder` decodes a text, but without parsing it again.
  ///
  /// A `JSONValue` inside it is taken over as it is. A number beyond `Int` is no whole number here,
  /// since `JSONValue` holds it as a `Double`.
  package func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    try JSONValueDecoder(value: self, codingPath: []).decode(type)
  }
}

/// A value and its place, from which a `Decodable` makes itself.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = value.object else { throw mismatch("an object", Key.self) }
    return KeyedDecodingContainer(Members(members: members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.array else { throw mismatch("a list", [JSONValue].self) }
    return Elements(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let scalar: (value: Any?, expected: String)? =
      switch type {
      case is String.Type: (value.string, "a string")
      case is Bool.Type: (value.bool, "true or false")
      case is Double.Type: (value.double, "a number")
      case is Float.Type: (value.double.map { Float($0) }, "a number")
      case let type as any FixedWidthInteger.Type: (integer(type), "a whole number")
      // Types that `JSONDecoder` decodes otherwise than they ask for.
      case is Data.Type: (value.string.flatMap { Data(base64Encoded: $0) }, "Base64")
      case is Decimal.Type: (value.double.flatMap { Decimal(string: "\($0)") }, "a number")
      case is URL.Type: (value.string.flatMap { URL(string: $0) }, "a URL")
      default: nil
      }
    guard let scalar else { return try Value(from: self) }
    guard let decoded = scalar.value as? Value else { throw mismatch(scalar.expected, type) }
    return decoded
  }

  private func integer<Integer: FixedWidthInteger>(_: Integer.Type) -> Integer? {
    value.integer.flatMap { Integer(exactly: $0) }
  }

  private func mismatch(_ expected: String, _ type: Any.Type) -> DecodingError {
    DecodingError.typeMismatch(
      type, .init(codingPath: codingPath, debugDescription: "\(expected) is expected"))
  }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: JSONValue]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try decoder("super".codingKey) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

  private func decoder(_ key: any CodingKey) throws -> JSONValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        .init(codingPath: codingPath, debugDescription: "\(quoted(key.stringValue)) is missing"))
    }
    return JSONValueDecoder(value: value, codingPath: codingPath + [key])
  }
}

private struct Elements: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let codingPath: [any CodingKey]
  var currentIndex = 0

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try next().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try advance { try $0.decode(type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try advance { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try advance { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try advance { $0 } }

  private mutating func advance<Result>(
    _ body: (JSONValueDecoder) throws -> Result
  ) throws -> Result {
    let result = try body(next())
    currentIndex += 1
    return result
  }

  private func next() throws -> JSONValueDecoder {
    let path = codingPath + [currentIndex.codingKey]
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: path, debugDescription: "a value is missing"))
    }
    return JSONValueDecoder(value: elements[currentIndex], codingPath: path)
  }
}
