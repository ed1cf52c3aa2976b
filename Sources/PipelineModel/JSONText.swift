import FoundationEssentials

/// JSON as this project writes it: on one line, with sorted keys and unescaped slashes.
public enum JSONText {
  /// Encodes a value on one line with sorted keys.
  public static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Encodes a value on several lines, for people.
  public static func encodePretty(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Decodes a value from text.
  public static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value
  {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  /// Decodes a value from UTF-8 bytes.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: some Sequence<UInt8>
  ) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }

  /// Decodes a value of any shape from text, much faster than `Codable`.
  public static func decode(
    _ type: JSONValue.Type, from text: String
  ) throws(JSONError) -> JSONValue {
    try JSONReader.read(Array(text.utf8)).value
  }

  /// Decodes a value of any shape from UTF-8 bytes, much faster than `Codable`.
  public static func decode(
    _ type: JSONValue.Type, from bytes: some Sequence<UInt8>
  ) throws(JSONError) -> JSONValue {
    try JSONReader.read(Array(bytes)).value
  }
}
