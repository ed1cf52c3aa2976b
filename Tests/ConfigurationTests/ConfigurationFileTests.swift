import Foundation
import PipelineModel
import Testing

@testable import Configuration

/// These tests need real files, whose modes and owners the kernel reports.
@Suite(.timeLimit(.minutes(1))) final class ConfigurationFileTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appending(path: "configuration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    // Clean-up; nothing depends on it.
    try? FileManager.default.removeItem(at: folder)
  }

  private var path: BytePath { BytePath(folder.path).appending("pipeline.json") }

  private func write(_ text: String, mode: mode_t = 0o600, to name: String = "pipeline.json") throws
  {
    let url = folder.appending(path: name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
    try #require(chmod(url.path, mode) == 0)
  }

  private func loadingError() throws -> ConfigurationError {
    let thrown = #expect(throws: ConfigurationErrors.self) {
      try PipelineConfiguration.load(file: self.path)
    }
    return try #require(thrown?.errors.first)
  }

  @Test("A file of one's own is loaded", arguments: [0o600, 0o644, 0o400, 0o755] as [mode_t])
  func load(mode: mode_t) throws {
    try write(InitialConfiguration.text(), mode: mode)
    let configuration = try PipelineConfiguration.load(file: path)
    #expect(configuration.file == path)
    #expect(configuration.library == BytePath(folder.path).appending("library"))
  }

  @Test(
    "A file that others may write is refused", arguments: [0o602, 0o622, 0o666] as [mode_t])
  func writable(mode: mode_t) throws {
    try write(InitialConfiguration.text(), mode: mode)
    let error = try loadingError()
    #expect(error.code == .untrusted && error.file == path && error.pointer == nil)
    #expect(error.message.contains("chmod go-w"))
  }

  @Test("A file that its group may write is refused, whoever is in the group")
  func group() throws {
    try write(InitialConfiguration.text(), mode: 0o664)
    let error = try loadingError()
    #expect(error.code == .untrusted && error.message.contains("chmod go-w"))
  }

  @Test(
    "It is said if nobody can know who is in the group that may write a file",
    .enabled(if: geteuid() == 0, "needs root for chown"))
  func unknownGroup() throws {
    try write(InitialConfiguration.text(), mode: 0o664)
    try #require(chown(path.description, 0, 4_294_967_123) == 0)
    let error = try loadingError()
    #expect(error.code == .untrusted && error.message.contains("there is no such group"))
  }

  @Test("A file of somebody else is refused", .enabled(if: geteuid() == 0, "needs root for chown"))
  func foreign() throws {
    try write(InitialConfiguration.text())
    try #require(chown(folder.appending(path: "pipeline.json").path, 12345, 12345) == 0)
    let error = try loadingError()
    #expect(error.code == .untrusted && error.message.contains("12345"))
  }

  @Test("A link is followed, and the file behind it examined")
  func link() throws {
    try write(InitialConfiguration.text(), mode: 0o666, to: "other.json")
    try #require(symlink("other.json", folder.appending(path: "pipeline.json").path) == 0)
    #expect(try loadingError().code == .untrusted)
    try write(InitialConfiguration.text(), mode: 0o600, to: "other.json")
    #expect(try PipelineConfiguration.load(file: path).file == path)
  }

  @Test("What is absent, a folder or a FIFO is refused without waiting")
  func unreadable() throws {
    let absent = try loadingError()
    #expect(absent.code == .unreadable && absent.message.contains("No such file"))
    try #require(mkdir(folder.appending(path: "pipeline.json").path, 0o700) == 0)
    #expect(try loadingError().message.contains("not a file"))
    try #require(rmdir(folder.appending(path: "pipeline.json").path) == 0)
    try #require(mkfifo(folder.appending(path: "pipeline.json").path, 0o600) == 0)
    #expect(try loadingError().message.contains("not a file"))
  }

  @Test("A file above 1 MiB is refused, one of 1 MiB is read")
  func size() throws {
    let text = #"{"library": "l"}"#
    let padding = String(repeating: " ", count: (1 << 20) - text.utf8.count)
    try write(text + padding)
    #expect(try PipelineConfiguration.load(file: path).stages.isEmpty)
    try write(text + padding + " ")
    #expect(try loadingError().code == .tooLarge)
  }

  @Test("The first of the places that has a configuration is used")
  func places() throws {
    let work = BytePath(folder.path).appending("work")
    let home = BytePath(folder.appending(path: "home").path)
    let xdg = BytePath(folder.appending(path: "xdg").path)
    func locate(_ environment: [String: BytePath], explicit: BytePath? = nil) -> BytePath? {
      ConfigurationFile.locate(explicit: explicit, environment: environment, workingFolder: work)
    }
    try write("{}", to: "home/.config/pipeline/pipeline.json")
    try write("{}", to: "xdg/pipeline/pipeline.json")
    let inHome = home.appending(".config/pipeline/pipeline.json")
    let inXDG = xdg.appending("pipeline/pipeline.json")

    #expect(locate(["HOME": home]) == inHome)
    #expect(locate(["HOME": home, "XDG_CONFIG_HOME": "relative"]) == inHome)
    #expect(locate(["HOME": home, "XDG_CONFIG_HOME": xdg]) == inXDG)
    try write("{}", to: "work/pipeline.json")
    #expect(locate(["HOME": home, "XDG_CONFIG_HOME": xdg]) == work.appending("pipeline.json"))
    // What the user names counts whether it is there or not.
    #expect(locate(["PIPELINE_CONFIG": "absent.json"]) == work.appending("absent.json"))
    #expect(locate(["PIPELINE_CONFIG": ""]) == work.appending("pipeline.json"))
    #expect(
      locate(["PIPELINE_CONFIG": "absent.json"], explicit: "../x.json")
        == BytePath(folder.path).appending("x.json"))
    #expect(locate([:], explicit: "/etc/x.json") == BytePath("/etc/x.json"))
    #expect(
      ConfigurationFile.places(environment: [:], workingFolder: work).last
        == BytePath("/etc/pipeline/pipeline.json"))
  }
}
