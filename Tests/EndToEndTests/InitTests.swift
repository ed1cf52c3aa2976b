import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Libraries that are made elsewhere than beside their configuration.
@Suite("init --library", .timeLimit(.minutes(5)))
struct InitTests {
  let folder: TemporaryFolder
  let program: BuiltProgram
  /// Another file system, where there is one.
  let disk: BytePath

  init() throws {
    folder = try TemporaryFolder()
    program = BuiltProgram(in: folder.path)
    let root = try Descriptor.openFolder(folder.path)
    try root.makeFolder("disk")
    disk = folder.appending("disk")
  }

  private func exists(_ path: BytePath) -> Bool {
    FileManager.default.fileExists(atPath: folder.path.appending(path).description)
  }

  @Test("makes the library there, and a configuration that names it")
  func elsewhere() throws {
    let made = try program.run(["init", "--library", "disk/library", "config dir", "--json"])
    let event = try made.event("initialized")
    let library = disk.appending("library").description
    #expect(event["library"]?.string == library && event["libraryMade"] == true)
    #expect(!exists("config dir/library") && exists("config dir/inbox"))
    let configuration = folder.appending("config dir/pipeline.json")
    let shown = try program.run(["config", "show", "--config", configuration])
    #expect(shown.output.contains(library))
    #expect(try program.run(["run", "--config", configuration]).exitCode == 0)

    // A second configuration for the library that is there.
    let again = try program.run(["init", "--library", "disk/library", "second", "--json"])
    #expect(try again.event("initialized")["libraryMade"] == false)
    #expect(try program.run(["run", "--config", "second/pipeline.json"]).exitCode == 0)
    #expect(try program.run(["init", "--library", "disk/library", "second"]).exitCode == 1)
  }

  @Test("refuses what is not empty, a file, a missing disk, and a folder in another library")
  func refusals() throws {
    let there = try Descriptor.openFolder(disk)
    try there.makeFolder("full")
    try Descriptor.openFolder("full", in: there).writeDurably([1], as: "a.jpg")
    try there.writeDurably([1], as: "file")
    #expect(try program.run(["init", "--library", "disk/library", "a"]).exitCode == 0)
    let words: [BytePath: String] = [
      "disk/full": "disk/full/library", "disk/file": "file", "unplugged/library": "mount",
      "disk/library/inner": "inside the library", "b/inbox": "inbox",
    ]
    for (library, advice) in words {
      let refused = try program.run(["init", "--library", library, "b"])
      #expect(refused.exitCode != 0 && refused.errors.contains(advice), "\(refused.errors)")
      #expect(!exists("b/pipeline.json"), "\(library)")
    }
    #expect(try Descriptor.openFolder("full", in: there).entries().count == 1)
    try there.makeFolder("empty")
    #expect(try program.run(["init", "--library", "disk/empty", "c"]).exitCode == 0)
    #expect(exists("disk/empty/library.json"))
  }

  @Test("makes just the library where the configuration is there and names it")
  func libraryAlone() throws {
    #expect(try program.run(["init", "--library", "disk/library", "a"]).exitCode == 0)
    try FileManager.default.removeItem(atPath: disk.appending("library").description)
    let place = try Descriptor.openFolder(folder.appending("a"))
    let before = try place.readFile("pipeline.json")
    let other = try program.run(["init", "--library", "disk/other", "a"])
    #expect(other.exitCode == 1 && other.errors.contains("disk/library") && !exists("disk/other"))
    // Without --library the message names the command, which is run as it stands.
    let refused = try program.run(["init", "a"])
    let quoted = refused.errors.split(separator: "`")
    let command = try #require(quoted.first { $0.hasPrefix("pipeline ") })
    let words = command.split(separator: " ").dropFirst().map { BytePath(String($0)) }
    #expect(try program.run(words).exitCode == 0)
    #expect(exists("disk/library/library.json"))
    #expect(try place.readFile("pipeline.json") == before)
    #expect(try program.run(words).exitCode == 1)
    #expect(try program.run(["init", "--config", "a/pipeline.json"]).exitCode == 2)
  }

  @Test(
    "Where run makes no library, on another disk, it names the command that does",
    .enabled(if: access("/dev/shm", W_OK) == 0, "needs another file system in /dev/shm"))
  func wayOut() throws {
    let other = BytePath("/dev/shm/pipeline tests \(UUID().uuidString)")
    #expect(mkdir(other.description, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: other.description) }
    #expect(try program.run(["init", "a"]).exitCode == 0)
    let file = folder.appending("a/pipeline.json")
    let text = try String(contentsOfFile: file.description, encoding: .utf8)
      .replacing("\"library\": \"library\"", with: "\"library\": \"\(other)/library\"")
    try Data(text.utf8).write(to: URL(filePath: file.description))
    let refused = try program.run(["run", "--config", "a/pipeline.json"])
    let command = "pipeline init --library '\(other)/library' --config \(file)"
    #expect(refused.exitCode == 1 && refused.errors.contains("`\(command)`"), "\(refused.errors)")
    let made = try program.run(
      ["init", "--library", other.appending("library"), "--config", file])
    #expect(made.exitCode == 0)
    #expect(try program.run(["run", "--config", "a/pipeline.json"]).exitCode == 0)
  }
}
