import Foundation
import PipelineModel
import Testing

@Suite("Decoding JSON into types", .timeLimit(.minutes(1)))
struct JSONDecodingTests {
  private enum Shape: Codable, Equatable {
    case circle(radius: Double)
    case line(Int, to: [Int?])
    case point
  }

  private struct Item: Codable, Equatable {
    var name: String
    var shape: Shape?
    var byte: UInt8?
    var ratio: Float?
    var data: Data?
    var date: Date?
    var link: URL?
    var price: Decimal?
    var items: [String: [Item]]?
    var rest: JSONValue?
  }

  /// A list whose elements are decoded one by one, each with another container.
  private struct Mixture: Decodable, Equatable {
    var names: [String] = []
    var counts: [Int] = []
    var hasNull: Bool

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      hasNull = try list.decodeNil()
      var inner = try list.nestedUnkeyedContainer()
      while !inner.isAtEnd { counts.append(try inner.decode(Int.self)) }
      let members = try list.nestedContainer(keyedBy: Key.self)
      names = members.allKeys.map(\.stringValue).sorted()
      names.append(try members.superDecoder(forKey: .a).singleValueContainer().decode(String.self))
      names.append(try String(from: list.superDecoder()))
    }

    private enum Key: String, CodingKey { case a, b }
  }

  private func expectAgreement<Value: Decodable & Equatable>(
    _ type: Value.Type, _ texts: [String], areRefused: Bool = false
  ) throws {
    for text in texts {
      let expected = try? JSONDecoder().decode(type, from: Data(text.utf8))
      #expect((expected == nil) == areRefused, "\(text)")
      let decoded = try? JSONText.decode(type, from: text)
      #expect(decoded == expected, "\(text)")
    }
  }

  @Test("Values are decoded as JSONDecoder decodes them")
  func agreement() throws {
    try expectAgreement([Int].self, ["[]", "[1, 2.0, -9223372036854775808, 1e3]"])
    try expectAgreement([Int?].self, ["[null, 1]"])
    try expectAgreement([Int8].self, ["[127, -128]"])
    try expectAgreement([String: Bool].self, [#"{"a": true, "": false}"#])
    try expectAgreement(String?.self, ["null", #""x""#])
    try expectAgreement(
      Item.self,
      [
        #"{"name": "a"}"#, #"{"name": "a", "shape": {"point": {}}, "unknown": [1]}"#,
        #"{"name": "a", "shape": {"circle": {"radius": 2}}, "byte": 255, "ratio": 0.5}"#,
        #"{"name": "a", "shape": {"line": {"_0": 1, "to": [null, 2]}}, "byte": null}"#,
        #"{"name": "a", "data": "AQI=", "date": 1.5, "link": "https://a.b/c", "price": 0.1}"#,
        #"{"name": "", "items": {"x": [{"name": "b", "rest": [1, {"c": null}]}], "y": []}}"#,
      ])
    try expectAgreement(Mixture.self, [#"[null, [1, 2], {"a": "x", "b": 1, "c": 2}, "y"]"#])
  }

  @Test("Values of other types are refused, as by JSONDecoder")
  func refusal() throws {
    try expectAgreement(
      [Int].self, ["[1.5]", "[1e19]", #"["1"]"#, "[true]", "{}", "[null]", "[[1]]"],
      areRefused: true)
    try expectAgreement([UInt8].self, ["[256]", "[-1]"], areRefused: true)
    try expectAgreement([Bool].self, ["[1]", #"["true"]"#], areRefused: true)
    try expectAgreement(
      Item.self,
      [
        "{}", #"{"name": null}"#, #"{"name": 1}"#, #"{"name": "a", "shape": {"square": {}}}"#,
        #"{"name": "a", "data": "%"}"#, #"{"name": "a", "items": [{"name": "b"}]}"#, "[]", "1",
      ], areRefused: true)
    try expectAgreement(
      Mixture.self, ["[]", "[null]", "[null, 1]", "[1, [], {}]", #"[null, [], {"a": "x"}]"#],
      areRefused: true)
  }

  @Test("A refusal names the place and what is expected there")
  func place() throws {
    let text = #"{"name": "a", "items": {"x": [{"name": "b"}, {"name": 7}]}}"#
    let error = #expect(throws: DecodingError.self) { try JSONText.decode(Item.self, from: text) }
    guard case .typeMismatch(_, let context) = error else {
      Issue.record("\(error.map { "\($0)" } ?? "nothing was thrown")")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["items", "x", "1", "name"])
    #expect(context.codingPath.map(\.intValue) == [nil, nil, 1, nil])
    #expect(context.debugDescription == "a string is expected")
  }
}
