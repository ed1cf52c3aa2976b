import Foundation
import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct SyntaxTests {
  @Test(
    "A slip in the syntax is reported with line and column",
    arguments: [
      ("", 1, 1), ("{", 1, 2), ("{\n  \"library\" 1}", 2, 13), ("{\"a\": 1,}", 1, 9),
      ("{\"a\": [1,]}", 1, 10), ("{'a': 1}", 1, 2), ("{\"a\": 01}", 1, 8), ("{} {}", 1, 4),
      ("{\"a\": tru}", 1, 7), ("{\"a\": \"x\ny\"}", 1, 9), ("// c\n{}", 1, 1), ("[1 2]", 1, 4),
      ("{\"ä\": \"\\x\"}", 1, 9), ("{\"a\": \"\\u12g4\"}", 1, 12), ("{\"a\": .5}", 1, 7),
      ("{\"a\": 1.}", 1, 9), ("{\"a\": +1}", 1, 7), ("{\"a\": 1e}", 1, 9), ("{\"a\": NaN}", 1, 7),
      ("{\"a\": \"\\ud800\"}", 1, 8), ("{\"a\": \"\\udc00\"}", 1, 8), ("{\"a\": 1e999}", 1, 7),
      ("{\"a\": \"\\ud800\\u0041\"}", 1, 8), ("{\n\n \"a\": \"x", 3, 7), ("{\"a\"", 1, 5),
    ])
  func syntax(text: String, line: Int, column: Int) throws {
    let error = try error(text)
    #expect(error.code == .syntax && error.pointer == nil)
    #expect(error.line == line && error.column == column, "\(error)")
  }

  @Test("A key that is there twice is reported where it is the second time")
  func duplicateKey() throws {
    let error = try error("{\"library\": \"a\",\n \"library\": \"b\"}")
    #expect(error.code == .duplicateKey && error.pointer == "/library")
    #expect(error.line == 2 && error.column == 2)
    let nested = try ConfigurationTests.error(
      withStage(#""options": {"a": {"b": 1, "\u0062": 2}}"#))
    #expect(nested.code == .duplicateKey && nested.pointer == "/stages/0/options/a/b")
  }

  @Test("Text that is not UTF-8 is refused")
  func encoding() {
    let found = errors(Array("{\"library\": \"".utf8) + [0xFF] + Array("\"}".utf8))
    #expect(found.map(\.code) == [.syntax])
    #expect(found.first?.message.contains("UTF-8") == true)
  }

  @Test("Nesting and size are bounded")
  func bounds() throws {
    let deep = String(repeating: "[", count: 100_000)
    #expect(errors(deep).map(\.code) == [.tooLarge])
    let legal = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
    #expect(errors(withStage(#""options": {"a": \#(legal)}"#)).isEmpty)
    #expect(errors([UInt8](repeating: 0x20, count: 1 << 20 + 1)).map(\.code) == [.tooLarge])
  }

  @Test("A byte order mark is passed over")
  func byteOrderMark() {
    #expect(errors([0xEF, 0xBB, 0xBF] + Array(#"{"library": "l"}"#.utf8)).isEmpty)
  }

  @Test("Formatted text is JSON that means the same")
  func formatting() throws {
    let text = #"""
      {"a": [0, 1, -1, 9223372036854775807, 1.5, -2.5e-3, 12345678901234567890], "": {}, "c": [],
       "b": "ä\u00e4\ud83d\ude00😀\"\\\/\b\f\n\r\t\u0001", "d": [true, false, null, [{}]]}
      """#
    let value = try JSONText.decode(JSONValue.self, from: text)
    let formatted = value.formatted()
    #expect(try JSONText.decode(JSONValue.self, from: formatted) == value)
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(formatted.utf8)) }
  }

  @Test("No prefix and no mutation of a configuration stops the program")
  func mutations() {
    var generator = Seeded(state: 42)
    let whole = Array(fullConfiguration.utf8)
    for length in whole.indices { #expect(!errors(Array(whole[..<length])).isEmpty) }
    for _ in 0..<1000 {
      var bytes = whole
      for _ in 0..<3 {
        bytes[Int.random(in: bytes.indices, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      for error in errors(bytes) { #expect(!error.message.isEmpty) }
    }
  }
}

/// A generator whose numbers follow from its seed (xorshift64*).
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 2_685_821_657_736_338_717
  }
}
