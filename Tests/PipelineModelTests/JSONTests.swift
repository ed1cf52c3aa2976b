import Foundation
import PipelineModel
import Testing

@Suite("JSON as the project writes it", .timeLimit(.minutes(1)))
struct JSONTests {
  static let everything: JSONValue = [
    "null": .null, "yes": true, "whole": 9_007_199_254_740_993, "half": 0.5, "text": "a/b\n\u{1}é",
    "list": [1, "two", [], [:]], "object": ["b": 2, "a": 1],
  ]

  @Test("Any value survives, whole numbers beyond 2^53 as well")
  func roundTrip() throws {
    let text = try JSONText.encode(Self.everything)
    #expect(try JSONText.decode(JSONValue.self, from: text) == Self.everything)
    #expect(try JSONText.decode(JSONValue.self, from: Array(text.utf8)) == Self.everything)
    let pretty = try JSONText.encodePretty(Self.everything)
    #expect(try JSONText.decode(JSONValue.self, from: pretty) == Self.everything)
  }

  @Test("A value is one line with sorted keys and plain slashes")
  func oneLine() throws {
    let value: JSONValue = ["b": "x/y\n", "a": ["d": 1, "c": 2]]
    #expect(try JSONText.encode(value) == #"{"a":{"c":2,"d":1},"b":"x/y\n"}"#)
    #expect(!(try JSONText.encode(Self.everything)).contains("\n"))
  }

  @Test("Values are asked for what they are")
  func accessors() throws {
    let value = Self.everything
    #expect(value["yes"]?.bool == true && value["whole"]?.integer == 9_007_199_254_740_993)
    #expect(value["half"]?.double == 0.5 && value["half"]?.integer == nil)
    #expect(value["text"]?.string?.hasPrefix("a/b") == true)
    #expect(value["list"]?.array?.count == 4 && value["object"]?.object?.count == 2)
    #expect(value["absent"] == nil && value["text"]?["x"] == nil)
    #expect(JSONValue.number(2).integer == 2 && JSONValue.integer(2).double == 2)
    #expect(value["yes"]?.integer == nil && value["whole"]?.bool == nil)
  }

  @Test("Text that is no JSON is refused", arguments: ["", "{", "{'a':1}", "nul", "[1,]]"])
  func noJSON(text: String) {
    #expect(throws: (any Error).self) { try JSONText.decode(JSONValue.self, from: text) }
  }
}
