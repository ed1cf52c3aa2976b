import PipelineModel
import PipelinePlugin
import Testing

@testable import Engine

@Suite("Facts that are too long", .timeLimit(.minutes(1)))
struct FactsCheckTests {
  private static let most = PluginResult.mostFactsBytes

  /// Facts of a number of bytes of JSON.
  private func facts(_ size: Int) -> String {
    let frame = "{\"a\":[0,\"]}\\\"\"],\"b\":\"\"}"
    return frame.dropLast(2) + String(repeating: "x", count: size - frame.utf8.count) + "\"}"
  }

  private func message(_ result: String) throws -> PluginMessage {
    try FactsCheck.message(
      from: Array("{\"type\":\"result\",\"job\":\"7\",\"result\":\(result)}".utf8))
  }

  @Test("Facts of the most bytes are taken, those of one more fail their job with both figures")
  func bound() throws {
    let whole = facts(Self.most)
    #expect(whole.utf8.count == Self.most)
    let value = try JSONText.decode(JSONValue.self, from: whole)
    #expect(
      try message("{\"outcome\":\"done\",\"facts\":\(whole)}")
        == .result(job: "7", .done(facts: value)))
    for result in [
      "{\"outcome\":\"done\",\"facts\":\(facts(Self.most + 1))}",
      " { \"facts\" : \(facts(Self.most + 1)) , \"renditions\" : [ ] , \"outcome\" : \"done\" } ",
      "{\"outcome\":\"done\",\"f\\u0061cts\":\(facts(Self.most + 1))}",
      "{\"facts\":\(facts(Self.most + 1)),\"outcome\":\"done\",\"facts\":{}}",
    ] {
      guard case .result("7", .failed(let failure)) = try message(result) else {
        Issue.record("\(result.prefix(60))")
        continue
      }
      #expect(failure.class == .permanent)
      #expect(failure.reason.contains("1048577") && failure.reason.contains("1048576"))
      #expect(FactsCheck.refusal(ofResult: Array(result.utf8)) == failure)
    }
  }

  @Test("What is long beside the facts is no matter of theirs")
  func beside() throws {
    let long = facts(Self.most + 1)
    for result in [
      "{\"outcome\":\"done\",\"other\":\(long),\"facts\":{\"facts\":1}}",
      "{\"outcome\":\"done\",\"other\":{\"facts\":\(long)},\"facts\":{\"facts\":1}}",
    ] {
      #expect(try message(result) == .result(job: "7", .done(facts: ["facts": 1])))
      #expect(FactsCheck.refusal(ofResult: Array(result.utf8)) == nil)
    }
    let reason = String(repeating: "x", count: Self.most)
    #expect(
      try message("{\"outcome\":\"skipped\",\"reason\":\"\(reason)\"}")
        == .result(job: "7", .skipped(reason: reason)))
  }

  @Test("Text that is not UTF-8 is no way around it")
  func otherEncoding() {
    let result = "{\"type\":\"result\",\"job\":\"7\",\"result\":{\"outcome\":\"done\",\"facts\":"
    let wide = (result + facts(Self.most + 1) + "}}").utf16.flatMap {
      [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
    }
    #expect(throws: (any Error).self) { try FactsCheck.message(from: wide) }
  }

  @Test(
    "Text that is no JSON is refused by who decodes it",
    arguments: [
      "{\"result\":{\"facts\":[", "{\"result\":{\"facts\"", "{\"result\":{\"facts\":\"\\", "{", "",
      "{\"result\":{\"facts\":]}}", "[[[[", "{\"result\":{\"facts\":0}",
    ])
  func broken(start: String) {
    let text = start + String(repeating: " ", count: Self.most)
    #expect(throws: (any Error).self) { try FactsCheck.message(from: Array(text.utf8)) }
  }
}
