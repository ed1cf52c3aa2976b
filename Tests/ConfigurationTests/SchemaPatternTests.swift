import PipelineModel
import Testing

@testable import Configuration

@Suite("Patterns of schemas", .timeLimit(.minutes(1)))
struct SchemaPatternTests {
  private func isFound(_ pattern: String, _ text: String) throws -> Bool? {
    var budget = 1_000_000
    return try SchemaPattern(pattern).isFound(in: text, budget: &budget)
  }

  @Test(
    "Each part of the syntax finds what it means, and nothing else",
    arguments: [
      ("", ["", "a"], []), ("b", ["abc", "b"], ["", "ac"]), ("^b", ["bc"], ["ab"]),
      ("b$", ["ab"], ["bc", "b\n"]), ("^a.c$", ["abc", "a😀c"], ["a\nc", "ac"]),
      ("^[a-c_-]+$", ["ab-_"], ["d", ""]), ("^[^a-c]$", ["d", "\n"], ["a", "dd"]),
      ("[]", [], ["", "a"]), ("^[^]$", ["\n", "x"], ["", "xx"]),
      ("^[\\]\\[\\b-]$", ["]", "\u{8}"], ["b"]),
      ("^\\d\\D$", ["1a"], ["11", "٣a"]), ("^\\w\\W$", ["_ ", "a-"], ["é ", "ab"]),
      ("^\\s\\S$", [" a", "\u{FEFF}a", "\u{2029}x"], ["aa", "  "]), ("^[\\d\\s]+$", ["1 2"], ["a"]),
      ("^[^\\D5]$", ["4"], ["5", "a"]), ("\\bfoo\\b", ["a foo.", "foo"], ["food", "afoo"]),
      ("\\Boo", ["foo"], ["oo"]), ("^(ab|c|)d$", ["abd", "cd", "d"], ["ad", "abcd"]),
      ("^(?:ab)+$", ["ab", "abab"], ["aba", ""]), ("^(?<name>a)b*?$", ["a", "abb"], ["b"]),
      ("^a{2}$", ["aa"], ["a", "aaa"]), ("^a{2,}$", ["aa", "aaaa"], ["a"]),
      ("^a{0,2}$", ["", "aa"], ["aaa"]), ("^a{0}$", [""], ["a"]),
      ("^(a*)*b$", ["b", "aab"], ["a"]),
      ("^(a?){3}$", ["", "aaa"], ["aaaa"]), ("^(|a)+$", ["", "aa"], ["b"]),
      ("^\\x41\\u0042\\u{43}\\uD83D\\uDE00$", ["ABC😀"], ["ABC"]),
      ("^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", ["^$\\.*+?()[]{}|/"], ["a"]),
      ("^\\t\\n\\v\\f\\r\\0$", ["\t\n\u{B}\u{C}\r\0"], ["t"]),
      ("a|^b$|c", ["xa", "b", "cx"], ["xb"]),
      ("^(ms|s|m)$", ["ms", "s", "m"], ["sm", "M"]), ("é", ["café"], ["cafe"]),
    ] as [(String, [String], [String])])
  func syntax(pattern: String, good: [String], bad: [String]) throws {
    for text in good { #expect(try isFound(pattern, text) == true, "“\(text)”") }
    for text in bad { #expect(try isFound(pattern, text) == false, "“\(text)”") }
  }

  @Test(
    "What is no pattern, or not supported, is refused with what is wrong",
    arguments: [
      ("(", "no end"), (")", "no “(”"), ("[a", "no end"), ("a{2", "no “}”"),
      ("a{", "not followed by a number"),
      ("{", "stands alone"), ("a**", "nothing to repeat"), ("*a", "nothing to repeat"),
      ("^*", "can't be repeated"), ("a{3,2}", "out of order"), ("[z-a]", "out of order"),
      ("[\\d-z]", "not characters"), ("[[a]]", "contains “[”"), ("\\", "ends with"),
      ("\\q", "“\\q”"),
      ("\\1(a)", "“\\1”"), ("\\p{L}", "“\\p”"), ("(?=a)", "lookahead"), ("(?<!a)", "lookahead"),
      ("(?i:a)", "lookahead"), ("(?<>a)", "name is empty"), ("(?<a", "no “>”"),
      ("\\uD800", "no character"), ("\\u{110000}", "no character"),
      ("\\xZ1", "hexadecimal"), ("a{1001}{1001}", "stands alone"),
      ("((((a{1,1000}){1,1000}){1,1000}){1,1000}){1,1000}", "more than 2000 steps"),
      ("a{99999999999999999999}", "more than 2000 steps"), ("(){1000000}", "more than 2000 steps"),
      (String(repeating: "(", count: 33) + String(repeating: ")", count: 33), "32 deep"),
      (String(repeating: "(", count: 100_000), "more than 1000 characters"),
    ])
  func refused(pattern: String, words: String) {
    let error = #expect(throws: SchemaPatternError.self) { try SchemaPattern(pattern) }
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
  }

  @Test("A pattern has at most as many steps as it may")
  func greatest() throws {
    for pattern in ["a{1999}", "a{0,999}", "(ab|c){399}", "a{1996,}"] {
      #expect(throws: Never.self, "\(pattern)") { try SchemaPattern(pattern) }
    }
    for pattern in ["a{2000}", "a{0,1000}", "(ab|c){400}", "a{1997,}"] {
      #expect(throws: SchemaPatternError.self, "\(pattern)") { try SchemaPattern(pattern) }
    }
    #expect(try SchemaPattern("a{0,999}").steps.count < SchemaPattern.mostSteps)
  }

  @Test("A pattern that an engine goes back and forth over takes as long as any other")
  func noWayBack() throws {
    let text = String(repeating: "a", count: 5000) + "!"
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x", "^(a?){50}a{50}$"] {
      #expect(try isFound(pattern, text) == false, "\(pattern)")
    }
  }

  @Test("A search ends when its budget is used up, and says so")
  func budget() throws {
    var budget = 1000
    let pattern = try SchemaPattern("(a|b|c)*x")
    let text = String(repeating: "a", count: 1000)
    #expect(pattern.isFound(in: text, budget: &budget) == nil)
    // What follows gets none of it, either.
    #expect(pattern.isFound(in: "aaaaa", budget: &budget) == nil && budget < 0)
    let schema = try OptionSchema(["pattern": "^(a|b|c|d|e|f|g|h)*x$"])
    let problems = schema.problems(with: .string(String(repeating: "a", count: 1 << 20)))
    #expect(problems.count == 1 && problems[0].message.contains("too long to be compared"))
  }
}
