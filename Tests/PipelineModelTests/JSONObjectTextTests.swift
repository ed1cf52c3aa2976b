import Foundation
import PipelineModel
import Testing

@Suite("JSON objects, member by member")
struct JSONObjectTextTests {
  private struct Members: Codable, Equatable {
    var big: UInt64?
    var no: Bool?
    var number: Int64?
    var text: String?
  }

  private func whole(_ text: JSONObjectText) -> String {
    String(decoding: text.bytes + [UInt8(ascii: "}")], as: UTF8.self)
  }

  @Test(
    "What is written is what an encoder with sorted keys writes",
    arguments: [
      "", "plain", "a \"quote\" and a \\ and a /", "\u{0}\u{1}\u{7}\u{8}\t\n\u{B}\u{C}\r\u{1F}",
      "\u{7F} é 🦊 \u{202E}\u{2028}", "e\u{301}", "{\"check\":\"",
    ])
  func same(text: String) throws {
    let members = Members(big: .max, no: false, number: .min, text: text)
    var written = JSONObjectText()
    written.add("big", members.big)
    written.add("no", members.no)
    written.add("number", members.number)
    written.add("text", members.text)
    #expect(whole(written) == (try JSONText.encode(members)))
    #expect(try JSONDecoder().decode(Members.self, from: Data(whole(written).utf8)) == members)
  }

  @Test("Members that are not there are left out")
  func absent() {
    var written = JSONObjectText()
    #expect(whole(written) == "{}")
    written.add("a", nil as String?)
    written.add("b", nil as Int?)
    written.add("c", true)
    written.add("d", nil as Bool?)
    #expect(whole(written) == #"{"c":true}"#)
  }
}
