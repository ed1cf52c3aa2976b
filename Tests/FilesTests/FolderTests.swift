import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Names in folders", .timeLimit(.minutes(1)))
struct FolderTests {
  let temporary: TemporaryFolder
  let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
  }

  private func names() throws -> Set<BytePath> { Set(try folder.entries().map(\.name)) }

  @Test("A rename never replaces what has the name already")
  func rename() throws {
    try folder.writeDurably([1], as: "a")
    try folder.writeDurably([2], as: "b")
    let error = try #require(throws: FileError.self) {
      try folder.rename("a", to: folder, as: "b")
    }
    #expect(error.code == .exists)
    #expect(try folder.readFile("a") == [1])
    #expect(try folder.readFile("b") == [2])
    try folder.rename("a", to: folder, as: "c")
    #expect(try names() == ["b", "c"])
    try folder.replace("c", to: folder, as: "b")
    #expect(try names() == ["b"])
    #expect(try folder.readFile("b") == [1])
  }

  @Test("A link that leads nowhere still counts as a name that is taken")
  func danglingLink() throws {
    try folder.writeDurably([1], as: "a")
    try #require(symlink("nowhere", "\(temporary.appending("b"))") == 0)
    #expect(throws: FileError.self) { try folder.rename("a", to: folder, as: "b") }
    #expect(try folder.status(of: "b").kind == .link)
  }

  @Test("Writing durably replaces the whole file and leaves nothing else behind")
  func writeDurably() throws {
    try folder.writeDurably([1, 2, 3], as: "a", mode: 0o640)
    try folder.writeDurably([4], as: "a", mode: 0o600)
    #expect(try folder.readFile("a") == [4])
    #expect(try folder.status(of: "a").permissions == 0o600)
    #expect(try names() == ["a"])
  }

  @Test("When writing fails, the old file is whole and no other one is left")
  func writeFails() throws {
    try folder.writeDurably([1], as: "a")
    let longest = BytePath(String(repeating: "n", count: 255))
    // The temporary name is longer than the kernel takes.
    #expect(throws: FileError.self) { try folder.writeDurably([2], as: longest) }
    // A folder can't be replaced by a file: the failure comes after the bytes were written.
    try folder.makeFolder("d")
    #expect(throws: FileError.self) { try folder.writeDurably([2], as: "d") }
    #expect(try names() == ["a", "d"])
    #expect(try folder.readFile("a") == [1])
  }

  @Test("A leftover of a writer that was killed is written over")
  func leftover() throws {
    try folder.writeDurably([9, 9, 9, 9], as: ".a.new")
    try folder.writeDurably([1], as: "a")
    #expect(try names() == ["a"])
    #expect(try folder.readFile("a") == [1])
  }

  @Test("The way to a file leads through no link and out of no folder")
  func openParent() throws {
    try folder.makeFolder("x")
    let inner = try Descriptor.openFolder("x", in: folder)
    try inner.makeFolder("y")
    try inner.writeDurably([5], as: "file")
    try #require(symlink("x", "\(temporary.appending("link"))") == 0)
    #expect(try folder.openParent(of: "x/y/z").path == temporary.appending("x/y"))
    #expect(try folder.openParent(of: "file").path == temporary.path)
    for path: BytePath in ["link/file", "x/../file", "../file", "x/y/../../x/file"] {
      let error = try #require(throws: FileError.self) { try folder.openParent(of: path) }
      // O_NOFOLLOW with O_DIRECTORY answers ENOTDIR for a link.
      #expect([.link, .notFound].contains(error.code), "\(path)")
    }
    #expect(throws: FileError.self) { try folder.openParent(of: "x/file/z") }
    #expect(throws: FileError.self) { try folder.openParent(of: "absent/z") }
  }

  @Test("A link at the end is not followed when a file is read")
  func readFile() throws {
    try folder.writeDurably([5], as: "a")
    try #require(symlink("a", "\(temporary.appending("link"))") == 0)
    let error = try #require(throws: FileError.self) { try folder.readFile("link") }
    #expect(error.code == .link)
  }

  @Test("Names come as the bytes that they are, with their kinds")
  func entries() throws {
    let raw: [BytePath] = [
      BytePath(bytes: [0xFF, 0xFE]), "-rf", "new\nline", " ", "…", ".hidden",
      BytePath(bytes: [UInt8](repeating: 0xE9, count: 255)),
    ]
    for name in raw { try folder.writeDurablyOrPlainly(name) }
    try folder.makeFolder("folder")
    try #require(mkfifo("\(temporary.appending("fifo"))", 0o600) == 0)
    try #require(symlink("folder", "\(temporary.appending("link"))") == 0)
    let entries = try folder.entries()
    #expect(Set(entries.map(\.name)) == Set(raw + ["folder", "fifo", "link"]))
    for entry in entries {
      let kind = try folder.status(of: entry.name).kind
      #expect(entry.kind == nil || entry.kind == kind)
      switch entry.name {
      case "folder": #expect(kind == .folder)
      case "fifo": #expect(kind == .fifo)
      case "link": #expect(kind == .link)
      default: #expect(kind == .regular)
      }
    }
    // A second look begins from the start.
    #expect(try folder.entries().count == entries.count)
  }

  @Test("Making a folder says whether it was there")
  func makeFolder() throws {
    #expect(try folder.makeFolder("a"))
    #expect(try !folder.makeFolder("a"))
    #expect(try folder.status(of: "a").permissions == 0o700)
    try folder.removeFolder("a")
    #expect(throws: FileError.self) { try folder.removeFolder("a") }
  }

  @Test("A path is made real, and one that leads nowhere is an error")
  func realPath() throws {
    try folder.makeFolder("x")
    try #require(symlink("x", "\(temporary.appending("link"))") == 0)
    #expect(try FileSystem.realPath(of: temporary.appending("link")) == temporary.appending("x"))
    #expect(throws: FileError.self) { try FileSystem.realPath(of: temporary.appending("no")) }
    #expect(try FileSystem.workingFolder().isAbsolute)
  }

  @Test("What a user may not read or write is an error of permissions")
  func permissions() throws {
    // Root is refused nothing, so this needs a thread without privileges.
    try folder.writeDurably([1], as: "secret", mode: 0o600)
    try #require(chmod("\(temporary.path)", 0o555) == 0)
    if geteuid() != 0 { try #require(chmod("\(temporary.appending("secret"))", 0) == 0) }
    let path = temporary.path
    let codes = try Unprivileged.run { () -> [FileError.Code?] in
      let folder = try Descriptor.openFolder(path)
      func code(_ body: () throws(FileError) -> Void) -> FileError.Code? {
        do throws(FileError) {
          try body()
          return nil
        } catch { return error.code }
      }
      return [
        code { () throws(FileError) in _ = try folder.readFile("secret") },
        code { () throws(FileError) in try folder.writeDurably([2], as: "new") },
        code { () throws(FileError) in try folder.remove("secret") },
      ]
    }
    #expect(codes == [.permission, .permission, .permission])
  }
}

extension Descriptor {
  /// Makes a file with one byte; the longest names leave no room for a temporary one.
  fileprivate func writeDurablyOrPlainly(_ name: BytePath) throws {
    let file = try Descriptor.open(name, in: self, flags: O_WRONLY | O_CREAT, mode: 0o600)
    try file.write([1])
  }
}
