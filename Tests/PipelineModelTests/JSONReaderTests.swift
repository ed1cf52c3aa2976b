import Foundation
import PipelineModel
import Testing

@Suite("Reading JSON of any shape", .timeLimit(.minutes(1)))
struct JSONReaderTests {
  private func read(_ text: String) throws(JSONError) -> JSONValue {
    try JSONReader.read(Array(text.utf8)).value
  }

  private func decoded(_ text: String) throws -> JSONValue {
    // By the generic way, not by the overload that calls the reader.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: Data(text.utf8))
    }
    return try decode(JSONValue.self)
  }

  private func failure(_ bytes: some Sequence<UInt8>) -> JSONError? {
    do throws(JSONError) {
      _ = try JSONReader.read(Array(bytes))
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "Values are read as JSONDecoder reads them",
    arguments: [
      "null", " true ", "false", "[]", "{}", "-0", "12", "2.0", "1e3", "1E+2", "1.5e-3", "-0.0",
      "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e300",
      #""a\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00é😀""#, #"{"a":[1,{"b":null}],"c":"","":false}"#,
      "[1.25,-7,\"x\"]", "\u{FEFF}[1]", "{\"a\" :\t[ 1 ,\r\n2 ] }",
    ])
  func agreement(text: String) throws {
    let expected = try decoded(text)
    #expect(try read(text) == expected)
    #expect(try JSONText.decode(JSONValue.self, from: text) == expected)
    #expect(try JSONText.decode(JSONValue.self, from: Array(text.utf8)) == expected)
  }

  @Test(
    "A slip is reported with the byte where it is",
    arguments: [
      ("", 0), ("{", 1), ("[1", 2), ("{\"a\": 1,}", 8), ("[1,]", 3), ("{'a': 1}", 1), ("{a:1}", 1),
      ("{\"a\"}", 4), ("{\"a\":}", 5), ("[01]", 2), ("{} {}", 3), ("1 2", 2), ("[1 2]", 3),
      ("tru", 0), ("nul", 0), ("[NaN]", 1), ("[.5]", 1), ("[1.]", 3), ("[+1]", 1), ("--1", 1),
      ("[1e]", 3), ("[1e999]", 1), ("\"", 0), ("[\"x\ny\"]", 3), ("\"\\x\"", 2), ("\"ä\\x\"", 4),
      ("\"\\u12g4\"", 5), ("\"\\u12\"", 5), ("\"\\ud800\"", 1), ("\"\\udc00\"", 1),
      ("\"\\ud800\\u0041\"", 1), ("\"\\ud83d\"", 1), ("// c\n1", 0),
    ])
  func syntax(text: String, offset: Int) throws {
    let error = try #require(failure(text.utf8))
    #expect(error.code == .syntax && error.offset == offset, "\(error)")
    #expect(error.message.hasSuffix("."))
    #expect(throws: error) { try JSONText.decode(JSONValue.self, from: text) }
  }

  @Test("A message shows what was found, safe for a terminal")
  func messages() {
    #expect(failure("[1 ä]".utf8)?.message == "Expected a comma or “]”, found “ä”.")
    #expect(failure("[1".utf8)?.message == "Expected a comma or “]”, found the end of the text.")
    #expect(failure("[\u{1B}".utf8)?.description.contains("\u{1B}") == false)
    #expect(failure("[1 2]".utf8)?.description.hasSuffix("(at byte 3)") == true)
  }

  @Test("Text that is not UTF-8 is refused")
  func encoding() {
    let error = failure([0x5B, 0x22, 0x61, 0xFF, 0x22, 0x5D])
    #expect(error?.code == .syntax && error?.offset == 2)
    #expect(error?.message.contains("UTF-8") == true)
  }

  @Test("Nesting is bounded, by default where JSONDecoder bounds it")
  func depth() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    let error = failure(nested(513).utf8)
    #expect(error?.code == .tooDeep && error?.offset == 512)
    #expect(throws: (any Error).self) { try decoded(nested(513)) }
    #expect(try read(nested(512)) == decoded(nested(512)))
    #expect(throws: (any Error).self) { try read(String(repeating: "[", count: 100_000)) }
    #expect(throws: JSONError.self) { try JSONReader.read(Array("[[{}]]".utf8), depth: 2) }
    #expect(try JSONReader.read(Array("[[]]".utf8), depth: 2).value == [[]])
  }

  @Test("Places and keys that are there twice are recorded when they are asked for")
  func places() throws {
    let bytes = Array(#"{"a/b": [10, {"~": null}], "\u0063": 1, "c": 2}"#.utf8)
    let document = try JSONReader.read(bytes, recordsPlaces: true)
    #expect(document.value == ["a/b": [10, ["~": .null]], "c": 2])
    #expect(
      document.offsets == [
        "": 0, "/a~1b": 8, "/a~1b/0": 9, "/a~1b/1": 13, "/a~1b/1/~0": 19, "/c": 45,
      ])
    #expect(document.duplicates.map(\.pointer) == ["/c"])
    #expect(document.duplicates.map(\.key) == ["c"])
    #expect(document.duplicates.map(\.offset) == [40])
    let plain = try JSONReader.read(bytes)
    #expect(plain.value == document.value)
    #expect(plain.offsets.isEmpty && plain.duplicates.isEmpty)
  }

  @Test("No prefix and no mutation of a text stops the program, and what is read is JSON")
  func mutations() throws {
    var generator = Generator(state: 7)
    let whole = Array(
      #"{"a": [1, -2.5e3, true, null], "ä\n\ud83d\ude00": {"b": "c\\d", "": []}}"#.utf8)
    for length in whole.indices { #expect(failure(whole[..<length]) != nil) }
    for _ in 0..<5000 {
      var bytes = whole
      for _ in 0..<2 {
        bytes[Int.random(in: bytes.indices, using: &generator)] = .random(
          in: 0...127, using: &generator)
      }
      guard failure(bytes) == nil else { continue }
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(try read(text) == decoded(text), "\(text)")
    }
  }
}

/// A generator whose numbers follow from its seed (xorshift64*).
private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 2_685_821_657_736_338_717
  }
}
