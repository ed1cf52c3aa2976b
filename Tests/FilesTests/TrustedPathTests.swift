import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Paths on which nobody else can put something", .timeLimit(.minutes(1)))
struct TrustedPathTests {
  private let temporary: TemporaryFolder
  private let top: Descriptor

  /// Makes `a/b/file`, and the links `link` to `a` and `a/b/loop` to itself.
  init() throws {
    temporary = try TemporaryFolder()
    top = try Descriptor.openFolder(FileSystem.realPath(of: temporary.path))
    try top.makeFolder("a", mode: 0o755)
    let folder = try Descriptor.openFolder("a", in: top)
    try folder.makeFolder("b", mode: 0o755)
    try Descriptor.openFolder("b", in: folder).writeDurably([1, 2], as: "file", mode: 0o644)
    try #require(symlink("a", "\(top.path)/link") == 0)
    try #require(symlink("loop", "\(top.path)/a/b/loop") == 0)
  }

  private func find(_ path: BytePath) throws -> Descriptor {
    try TrustedPath.findFile(top.path.appending(path), as: "The plugin")
  }

  private func refusal(_ path: BytePath) throws -> FileError {
    try #require(throws: FileError.self) { try find(path) }
  }

  @Test("A file is found by any path, and named by the one without links")
  func found() throws {
    for path: BytePath in ["a/b/file", "link/b/file", "a/./b/../b/file", "link/../a/b/file"] {
      let place = try find(path)
      #expect(place.path == top.path.appending("a/b/file"))
      #expect(try place.openedForReading().readToEnd() == [1, 2])
    }
    #expect(try refusal("a/b/loop").code == .link)
    #expect(try refusal("a/b/file/c").code == .notFound)
    #expect(try refusal("a/b").code == .notRegular)
    #expect(throws: FileError.self) { try TrustedPath.findFile("a/b/file", as: "The plugin") }
  }

  @Test(
    "The file and each folder above it may be written by nobody else, also behind a link",
    arguments: ["a/b/file", "a/b", "a"], [UInt32(0o777), 0o757])
  func writable(_ name: String, _ mode: UInt32) throws {
    let path = top.path.appending(name)
    try #require(chmod("\(path)", mode) == 0)
    for way: BytePath in ["a/b/file", "link/b/file"] {
      let error = try refusal(way)
      #expect(error.code == .untrusted && error.path == path)
      #expect(error.message.contains("chmod go-w"))
    }
  }

  @Test(
    "What its group may write is refused where it can't be known who is in it",
    .enabled(if: geteuid() == 0, "only root can give a file to a group that is none"),
    arguments: ["a/b/file", "a/b", "a"])
  func group(_ name: String) throws {
    let path = top.path.appending(name)
    try #require(chmod("\(path)", 0o775) == 0)
    _ = try find("a/b/file")
    try #require(chown("\(path)", 0, 4_294_967_123) == 0)
    try #require(chmod("\(path)", 0o775) == 0)
    let error = try refusal("a/b/file")
    #expect(error.code == .untrusted && error.path == path)
    #expect(error.message.contains("there is no such group"), "\(error.message)")
    #expect(error.message.contains("chmod go-w"))
  }

  @Test("A folder where all may put something, but not replace, may be above, not hold the file")
  func sticky() throws {
    try #require(chmod("\(top.path)/a", 0o1777) == 0)
    _ = try find("a/b/file")
    try #require(chmod("\(top.path)/a/b", 0o1777) == 0)
    #expect(try refusal("a/b/file").path == top.path.appending("a/b"))
    #expect(throws: FileError.self) {
      try TrustedPath.findFolder(top.path.appending("a/b"), as: "The folder")
    }
  }

  @Test(
    "The file, the link and each folder above belong to this user or root",
    .enabled(if: geteuid() == 0, "only root can give something away"),
    arguments: ["a/b/file", "a/b", "a", "link"])
  func owner(_ name: String) throws {
    let path = top.path.appending(name)
    try #require(lchown("\(path)", 1234, 1234) == 0)
    let error = try refusal("link/b/file")
    #expect(error.code == .untrusted && error.path == path)
    #expect(error.message.contains("user 1234"))
  }
}
