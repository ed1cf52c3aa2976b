import Files
import Fixtures
import Hashing
import PipelineModel
import Testing

@testable import Export

/// `SHA256SUMS`.
@Suite("Checksum lists", .timeLimit(.minutes(1)))
struct ChecksumListTests {
  private let folder: TemporaryFolder
  private let root: Descriptor

  init() throws {
    folder = try TemporaryFolder()
    root = try Descriptor.openFolder(folder.path)
  }

  private static let first = SHA256.digest(of: Array("1".utf8))
  private static let second = SHA256.digest(of: Array("2".utf8))

  private func text() throws -> String {
    String(decoding: try root.readFile(ChecksumList.name), as: UTF8.self)
  }

  @Test("A line is read as it was written, whatever the name")
  func lines() throws {
    for name in ["a.jpg", "a b", " a", "-", "back\\slash", "new\nline", "\r", "*", "caf\u{E9}"] {
      let line = ChecksumList.line(BytePath(name), Self.first)
      let parsed = try #require(ChecksumList.parse(line.dropLast()), "\(name)")
      #expect(parsed.path == BytePath(name))
      #expect(parsed.digest == Self.first)
    }
    let raw = BytePath(bytes: [0xFF, 0x5C, 0x0A])
    #expect(ChecksumList.parse(ChecksumList.line(raw, Self.first).dropLast())?.path == raw)
    #expect(ChecksumList.parse(Array("\(Self.first.hex) *a".utf8))?.path == "a")
    for text in ["", "a", "\(Self.first.hex)", "\(Self.first.hex)  ", "\(Self.first.hex)xxa"] {
      #expect(ChecksumList.parse(Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test("Lines are added; the same one is not added twice; one that is replaced goes at the end")
  func append() throws {
    var list = try ChecksumList(in: root)
    try list.append([("a", Self.first), ("b", Self.first), ("a", Self.first)])
    try list.append([("b", Self.first)])
    list = try ChecksumList(in: root)
    #expect(list.digest(of: "a") == Self.first)
    #expect(Set(list.paths(of: Self.first)) == ["a", "b"])
    try list.append([("a", Self.first)])
    #expect(try text() == "\(Self.first.hex)  a\n\(Self.first.hex)  b\n")
    try list.append([("a", Self.second), ("c", Self.second)])
    // Killed here, the last line of a path counts.
    #expect(try ChecksumList(in: root).digest(of: "a") == Self.second)
    try root.makeFolder("staging")
    let staging = try Descriptor.openFolder("staging", in: root)
    try list.finish(by: staging)
    let expected = "\(Self.first.hex)  b\n\(Self.second.hex)  a\n\(Self.second.hex)  c\n"
    #expect(try text() == expected)
    try list.append([("a", Self.second)])
    try list.finish(by: staging)
    #expect(try text() == expected)
    #expect(try staging.entries().isEmpty)
  }

  @Test("Half a line, which a killed process left, is dropped; a whole one without its end is kept")
  func torn() throws {
    let line = "\(Self.first.hex)  a\n"
    for tail in [
      "\\", "\(Self.second.hex.prefix(7))", "\(Self.second.hex)", "\(Self.second.hex) ",
      "\(Self.second.hex)  b",
    ] {
      try root.writeDurably(Array("\(line)\(tail)".utf8), as: ChecksumList.name)
      var list = try ChecksumList(in: root)
      #expect(list.digest(of: "b") == nil)
      #expect(try text() == line + tail, "only reading changes nothing")
      try list.append([("c", Self.second)])
      #expect(try text() == "\(line)\(Self.second.hex)  c\n", "\(tail)")
    }
    // A whole one is known by the bytes of its file, because it may be the beginning of another.
    let end = "\(Self.second.hex)  b"
    for (content, isWhole) in [("2", true), ("other", false)] {
      try root.writeDurably(Array(content.utf8), as: "b")
      try root.writeDurably(Array("\(line)\(end)".utf8), as: ChecksumList.name)
      var list = try ChecksumList(in: root)
      #expect(list.digest(of: "b") == (isWhole ? Self.second : nil))
      try list.append([("c", Self.second)])
      #expect(try text() == "\(line)\(isWhole ? end + "\n" : "")\(Self.second.hex)  c\n")
    }
  }

  @Test("A list that was not finished is finished later, though nothing is added")
  func finishedLater() throws {
    try root.makeFolder("staging")
    let staging = try Descriptor.openFolder("staging", in: root)
    try root.writeDurably(Array("2".utf8), as: "b")
    try root.writeDurably(
      Array("\(Self.first.hex)  a\n\(Self.second.hex)  a\n\(Self.second.hex)  b".utf8),
      as: ChecksumList.name)
    var list = try ChecksumList(in: root)
    try list.finish(by: staging)
    #expect(try text() == "\(Self.second.hex)  a\n\(Self.second.hex)  b\n")
  }

  @Test(
    "Another file of that name is refused and left alone", arguments: ["my notes\n", "my notes"])
  func foreign(content: String) throws {
    try root.writeDurably(Array(content.utf8), as: ChecksumList.name)
    let error = #expect(throws: ExportError.self) { _ = try ChecksumList(in: root) }
    #expect(error?.code == .destination)
    #expect(error?.message.contains("my notes") == true)
    #expect(try text() == content)
  }
}
