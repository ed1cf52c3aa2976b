import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct GlobTests {
  @Test(
    "Patterns match what they say",
    arguments: [
      ("**", "a", true), ("**", "a/b/c", true), ("*", "a", true), ("*", "a/b", true),
      ("/*", "a", true), ("/*", "a/b", false), ("*.jpg", "x/y/Z.JPG", true),
      ("*.jpg", "x.jpg/y", false), ("/*.jpg", "x/y.jpg", false), ("a/*.jpg", "a/b.jpg", true),
      ("a/*.jpg", "a/c/b.jpg", false), ("a/*.jpg", "x/a/b.jpg", false),
      ("a/**/b", "a/b", true), ("a/**/b", "a/x/y/b", true), ("a/**/b", "a/x/y/c", false),
      ("a/**", "a", false), ("a/**", "a/b", true), ("a/**", "a/b/c", true),
      ("**/drafts/**", "drafts/x", true), ("**/drafts/**", "a/drafts/x/y", true),
      ("**/drafts/**", "a/drafts", false), ("**/drafts/**", "adrafts/x", false),
      ("**/a/**/b/**/c", "x/a/y/b/z/w/c", true), ("**/a/**/b/**/c", "x/a/y/c/b", false),
      ("**/**/a", "a", true), ("a**b", "axxb", true), ("a**b", "a/b", false),
      ("?", "a", true), ("?", "ab", false), ("??", "ä", true), ("?", "ä", false),
      ("[abc].png", "B.png", true), ("[a-c]", "d", false), ("[!a-c]", "d", true),
      ("[!a-c]", "A", false), ("[^x]", "y", true), ("[]x]", "]", true), ("[a-]", "-", true),
      ("[\\]]", "]", true), ("[!x]", "\u{1}", true), ("\\*", "*", true), ("\\*", "a", false),
      ("\\[a]", "[a]", true), ("Ä", "Ä", true), ("Ä", "ä", false), ("x*y*z", "xaybzcz", true),
      ("x*y*z", "xaybzc", false), ("/a", "a", true), ("/a", "b/a", false), ("*a", "a", true),
      ("a*", "a", true), ("[Y-b]", "z", true), ("[Y-b]", "c", false),
    ])
  func matching(pattern: String, path: String, expected: Bool) throws {
    #expect(try Glob(pattern).matches(BytePath(path)) == expected)
  }

  @Test("A pattern that ends in a slash matches folders only")
  func foldersOnly() throws {
    let glob = try Glob("raw/")
    #expect(glob.matches(BytePath("a/raw"), isFolder: true))
    #expect(!glob.matches(BytePath("a/raw")))
  }

  @Test("Bytes that are not UTF-8 match as bytes")
  func bytes() throws {
    let name = BytePath(bytes: [0x61, 0xFF, 0xFE, 0x2E, 0x6A, 0x70, 0x67])
    #expect(try Glob("*.jpg").matches(name))
    #expect(try Glob("a??.jpg").matches(name))
    #expect(try Glob("a[!x][!x].jpg").matches(name))
    #expect(try !Glob("a?.jpg").matches(name))
    #expect(try Glob(BytePath(bytes: [0x2A, 0xFE, 0x2E, 0x2A])).matches(name))
    #expect(try Glob("*\n*").matches(BytePath("-rf\nx")))
  }

  @Test(
    "Patterns that could never match are refused",
    arguments: [
      ("", "is empty"), ("a//b", "empty component"), ("/", "empty component"),
      ("./a", "relative"), ("a/../b", "relative"), ("[", "“]”"), ("[a", "“]”"), ("[]", "“]”"),
      ("[a/b]", "“]”"), ("[z-a]", "backwards"), ("[ä]", "ASCII"), ("a\\", "backslash"),
      ("a\\/b", "backslash"), ("a\u{0}", "NUL"), ("[a-\\", "“]”"),
    ])
  func refused(pattern: String, reason: String) {
    let error = #expect(throws: ConfigurationError.self) { try Glob(pattern) }
    #expect(error?.code == .badGlob)
    #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
  }

  @Test("Patterns made to take for ever take no time")
  func pathological() throws {
    let clock = ContinuousClock()
    let name = String(repeating: "a", count: 255)
    let path = Array(repeating: "a", count: 2000).joined(separator: "/")
    let took = try clock.measure {
      let stars = try Glob(String(repeating: "*a", count: 60) + "b")
      #expect(!stars.matches(BytePath(name)))
      let folders = try Glob(String(repeating: "**/a/", count: 60) + "b")
      #expect(!folders.matches(BytePath(path)))
    }
    // Exponential time would be longer than the age of the universe.
    #expect(took < .seconds(10))
  }

  @Test("Matching agrees with a plain recursive definition on random patterns")
  func agreement() throws {
    var generator = Seeded(state: 7)
    var matched = 0
    for _ in 0..<20_000 {
      let pattern = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        "ab*?".randomElement(using: &generator) ?? "a"
      }
      let name = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
        "ab".randomElement(using: &generator) ?? "a"
      }
      // A name of two stars stands for folders and matches everything, as the definition does.
      let expected = recursive(pattern[...], name[...])
      let found = try Glob(String(pattern)).matches(BytePath(String(name)))
      #expect(found == expected, "\(String(pattern)) \(String(name))")
      if found { matched += 1 }
    }
    #expect((1000..<19_000).contains(matched))
  }

  @Test("Patterns of folders agree with a plain recursive definition")
  func folderAgreement() throws {
    var generator = Seeded(state: 11)
    var matched = 0
    for _ in 0..<20_000 {
      let pattern = (0..<Int.random(in: 2...5, using: &generator)).map { _ in
        ["a", "b", "**", "**"].randomElement(using: &generator) ?? "a"
      }
      let path = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        ["a", "b"].randomElement(using: &generator) ?? "a"
      }
      let expected = recursiveFolders(pattern[...], path[...])
      let found = try Glob("/" + pattern.joined(separator: "/"))
        .matches(BytePath(path.joined(separator: "/")))
      #expect(found == expected, "\(pattern) \(path)")
      if found { matched += 1 }
    }
    #expect((1000..<19_000).contains(matched))
  }

  private func recursive(_ pattern: ArraySlice<Character>, _ name: ArraySlice<Character>) -> Bool {
    guard let first = pattern.first else { return name.isEmpty }
    if first == "*" {
      return recursive(pattern.dropFirst(), name)
        || (!name.isEmpty && recursive(pattern, name.dropFirst()))
    }
    guard let byte = name.first, first == "?" || first == byte else { return false }
    return recursive(pattern.dropFirst(), name.dropFirst())
  }

  private func recursiveFolders(_ pattern: ArraySlice<String>, _ path: ArraySlice<String>) -> Bool {
    guard let first = pattern.first else { return path.isEmpty }
    if first == "**" {
      // At the end it stands for one component at least.
      if pattern.dropFirst().allSatisfy({ $0 == "**" }) { return !path.isEmpty }
      return recursiveFolders(pattern.dropFirst(), path)
        || (!path.isEmpty && recursiveFolders(pattern, path.dropFirst()))
    }
    guard first == path.first else { return false }
    return recursiveFolders(pattern.dropFirst(), path.dropFirst())
  }
}
