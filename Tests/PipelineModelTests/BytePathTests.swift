import PipelineModel
import Testing

@Suite("Paths of bytes", .timeLimit(.minutes(1)))
struct BytePathTests {
  @Test(
    "Normalising removes dots, empty components and what .. can take back",
    arguments: [
      ("/a/./b//c/", "/a/b/c"), ("/a/../b", "/b"), ("/..", "/"), ("/../../a", "/a"), ("", ""),
      ("a/..", ""), ("../a", "../a"), ("../../a", "../../a"), ("a/../../b", "../b"), (".", ""),
      ("/", "/"), ("//", "/"), ("a/...", "a/..."), ("/a/b/../../..", "/"),
    ])
  func normalized(path: String, expected: String) {
    #expect(BytePath(path).normalized == BytePath(expected))
    #expect(BytePath(path).normalized.normalized == BytePath(expected))
  }

  @Test(
    "A path below a folder is given relative to it",
    arguments: [
      ("/a/b", "/a", "b"), ("/a/b/c", "/a/", "b/c"), ("/a", "/", "a"), ("/a", "/a", nil),
      ("/ab", "/a", nil), ("/b/a", "/a", nil), ("/a/", "/a", nil), ("a/b", "a", "b"),
    ] as [(String, String, String?)])
  func relative(path: String, folder: String, expected: String?) {
    #expect(BytePath(path).relative(to: BytePath(folder)) == expected.map { BytePath($0) })
  }

  @Test("Parent, last component and components agree with dirname and basename")
  func parts() {
    let path = BytePath("/a/b c/d")
    #expect(path.parent == "/a/b c" && path.lastComponent == "d")
    #expect(path.components == ["a", "b c", "d"])
    #expect(BytePath("/a").parent == "/" && BytePath("a").parent == "")
    #expect(BytePath("a").lastComponent == "a" && BytePath("").isEmpty)
    #expect(path.isAbsolute && !BytePath("a").isAbsolute)
  }

  @Test("Appending puts one slash between, and an absolute path replaces")
  func appending() {
    #expect(BytePath("/a").appending("b") == "/a/b")
    #expect(BytePath("/").appending("b") == "/b")
    #expect(BytePath("/a").appending(BytePath("/b")) == "/b")
    #expect(BytePath("").appending("b") == "b")
    #expect(BytePath("a").appending(BytePath("")) == "a")
  }

  @Test("Bytes that are not UTF-8 are percent-encoded and everything else stays text")
  func notText() {
    let path = BytePath(bytes: [0x61, 0xFF, 0xC3, 0xA9, 0xE2, 0x82, 0x2F, 0xC0, 0xAF, 0x25])
    #expect(path.utf8 == nil)
    #expect(path.description == "a%FFé%E2%82/%C0%AF%")
    #expect(path.components.count == 2)
    // A surrogate and a code point beyond the last are no UTF-8 either.
    #expect(BytePath(bytes: [0xED, 0xA0, 0x80]).description == "%ED%A0%80")
    #expect(BytePath(bytes: [0xF4, 0x90, 0x80, 0x80]).description == "%F4%90%80%80")
    #expect(BytePath("naïve/写真").description == "naïve/写真")
  }

  @Test("What a terminal would obey, or read in another order, is escaped")
  func printable() {
    #expect(BytePath("a\u{1B}[2J\n\r\tb").printable == "a\\u{1b}[2J\\u{a}\\u{d}\\u{9}b")
    #expect(BytePath("gpj.\u{202E}exe").printable == "gpj.\\u{202e}exe")
    #expect(BytePath("a\u{2028}b\u{85}").printable == "a\\u{2028}b\\u{85}")
    #expect(BytePath(bytes: [0x9B, 0x41]).printable == "%9BA")
    #expect(BytePath("Ωμέγα 写真").printable == "Ωμέγα 写真")
  }

  @Test("Paths sort by their bytes")
  func order() {
    let sorted: [BytePath] = ["", "a", "a!b", "a/b", "a0", BytePath(bytes: [0xFF])]
    #expect(sorted.reversed().sorted() == sorted)
  }
}
