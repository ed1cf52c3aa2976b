import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin
import Testing

@testable import Engine
@testable import PluginHost

/// What a plugin may leave in its folder, and how it may name that.
@Suite("Odd files of plugins", .timeLimit(.minutes(1)))
struct OddFileTests {
  private let temporary: TemporaryFolder
  private let secret: BytePath
  private static let secretBytes = Array("a secret".utf8)
  private static let ownBytes = [UInt8](repeating: 7, count: 70_000)

  init() throws {
    temporary = try TemporaryFolder()
    secret = temporary.appending("secret")
    let root = try Descriptor.openFolder(temporary.path)
    try root.writeDurably(Self.secretBytes, as: "secret")
    for name: BytePath in ["work", "job"] { try root.makeFolder(name) }
  }

  /// What has the name that a result gives.
  enum Entry: CaseIterable {
    case file, empty, hole, folder, link, dangling, loop, hardLink, pipe, socket, nothing
  }

  /// Names of entries: with controls, dots, and as long as a name can be.
  private static let names = [
    "a", "-rf", "..x", "…", "a\nb", "\u{1B}[31m", String(repeating: "n", count: 255), "a\\b", " ",
  ]

  private func make(_ entry: Entry, _ name: String, in folder: BytePath) throws {
    let path = folder.appending(name).description
    let opened = try Descriptor.openFolder(folder)
    func write(_ bytes: [UInt8]) throws {
      let flags = O_WRONLY | O_CREAT
      try Descriptor.open(BytePath(name), in: opened, flags: flags, mode: 0o600).write(bytes)
    }
    let result: Int32 =
      switch entry {
      case .folder: mkdir(path, 0o700)
      case .link: symlink(secret.description, path)
      case .dangling: symlink("nowhere", path)
      case .loop: symlink(name, path)
      case .hardLink: link(secret.description, path)
      case .pipe: mkfifo(path, 0o600)
      case .socket: mknod(path, S_IFSOCK | 0o600, 0)
      case .file, .empty, .hole, .nothing: 0
      }
    try #require(result == 0, "\(entry)")
    switch entry {
    case .file: try write(Self.ownBytes)
    case .empty: try write([])
    case .hole:
      try write([1])
      try #require(truncate(path, 3 << 20) == 0)
    default: break
    }
  }

  @Test(
    "Only plain files with one link are taken, whatever they are called",
    arguments: Entry.allCases)
  func entries(entry: Entry) throws {
    let job = try Descriptor.openFolder(temporary.appending("job"))
    for (number, name) in Self.names.enumerated() {
      let folder = try WorkerFolder(BytePath("w\(number)"), in: temporary.appending("work"))
      try make(entry, name, in: folder.outputPath)
      let result = PluginResult.done(renditions: [rendition("r", at: name)])
      try #require(ResultCheck.fault(in: result) == nil)
      var taken: CollectedRendition?
      do throws(FileError) {
        guard case .done(_, let moved) = try folder.move(result, to: job.path) else { return }
        taken = try CollectedRendition(moved[0], from: job, mostInDatabase: -1)
      } catch {
        #expect(error.message.printable == error.message)
      }
      switch entry {
      case .file: #expect(taken?.digest == SHA256.digest(of: Self.ownBytes))
      case .empty: #expect(taken?.size == 0)
      case .hole: #expect(taken?.size == 3 << 20)
      default: #expect(taken == nil, "\(name.printable)")
      }
      for entry in try job.entries() { try job.removeTree(entry) }
      try folder.remove()
    }
    let kept = try Descriptor.openFolder(temporary.path).readFile("secret")
    #expect(kept == Self.secretBytes)
  }

  @Test("Folders count like files, however many are in one folder or below one another")
  func folders() throws {
    let folder = try WorkerFolder("w", in: temporary.appending("work"))
    let output = try Descriptor.openFolder(folder.outputPath)
    for number in 0..<300 {
      let name = BytePath("\(number)")
      try output.makeFolder(name)
      try Descriptor.openFolder(name, in: output).makeFolder("a")
    }
    var inner = output
    for _ in 0..<300 {
      try inner.makeFolder("b")
      inner = try Descriptor.openFolder("b", in: inner)
    }
    #expect(try folder.usage(mostFiles: 1000).files == 900)
    #expect(try folder.usage(mostFiles: 899).files == 900)
    try folder.remove()
  }
}
