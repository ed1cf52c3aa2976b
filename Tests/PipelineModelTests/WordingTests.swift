import PipelineModel
import Testing

@Suite("Text for people", .timeLimit(.minutes(1)))
struct WordingTests {
  @Test(
    "What a terminal would obey, or would show elsewhere, is escaped",
    arguments: [
      ("\u{1B}[31m", "\\u{1b}[31m"), ("a\tb\nc\r", "a\\u{9}b\\u{a}c\\u{d}"),
      ("\u{9B}1m\u{7F}", "\\u{9b}1m\\u{7f}"), ("\u{202E}gpj.x", "\\u{202e}gpj.x"),
      ("\u{2028}\u{2029}\u{200B}", "\\u{2028}\\u{2029}\\u{200b}"), ("Ärger 😀", "Ärger 😀"),
    ])
  func printable(text: String, shown: String) {
    #expect(text.printable == shown)
    #expect(shown.printable == shown)
  }

  @Test("A long text is cut to characters, not to bytes")
  func shortened() {
    #expect("abc".shortened(to: 3) == "abc" && "abcd".shortened(to: 3) == "ab…")
    #expect("äöü".shortened(to: 3) == "äöü" && "äöüß".shortened(to: 3) == "äö…")
    #expect("".shortened(to: 3) == "" && "abcd".shortened(to: 1) == "…")
    #expect(quoted(String(repeating: "x", count: 1 << 20)).unicodeScalars.count == 82)
  }
}
