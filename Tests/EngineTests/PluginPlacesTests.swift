import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import PluginHost

/// What of its surroundings a plugin may read.
@Suite("What a plugin reads beside its own file", .timeLimit(.minutes(1)))
struct PluginPlacesTests {
  private let temporary: TemporaryFolder
  private let top: BytePath

  init() throws {
    temporary = try TemporaryFolder()
    top = try FileSystem.realPath(of: temporary.path)
  }

  private func make(_ path: BytePath) throws -> BytePath {
    var folder = try Descriptor.openFolder(top)
    for part in path.components.dropLast() {
      try folder.makeFolder(part)
      folder = try Descriptor.openFolder(part, in: folder)
    }
    try folder.writeDurably([], as: path.lastComponent)
    return top.appending(path)
  }

  private func configuration(in folder: BytePath) -> PipelineConfiguration {
    PipelineConfiguration(
      file: folder.appending("pipeline.json"), library: folder.appending("library"))
  }

  private func places(
    _ file: BytePath, _ configuration: PipelineConfiguration? = nil
  ) -> [BytePath] {
    let plugin: WorkerLaunch.Plugin =
      file.bytes.suffix(3).elementsEqual(".so".utf8) ? .library(file) : .executable([file, "-x"])
    return WorkerProgram(plugin, secrets: PluginSecrets(configuration)).ownPlaces
  }

  @Test(
    "A folder of the plugin's name is its own",
    arguments: ["colour/colour.py", "colour/colour", "my.tool/my.tool.rb", "a/libpipeline-a.so"])
  func named(_ name: String) throws {
    let file = try make(BytePath(name))
    #expect(places(file) == [file.parent])
    #expect(places(file, configuration(in: top)) == [file.parent])
  }

  @Test(
    "In any other folder it reads its file alone",
    arguments: ["plugin.py", "bin/colour.py", "colour/libpipeline-a.so", "py/.py", "a/lib/a.py"])
  func alone(_ name: String) throws {
    let file = try make(BytePath(name))
    #expect(places(file) == [file])
  }

  @Test("A library also reads the libraries beside it, and no links that are called so")
  func libraries() throws {
    let file = try make("lib/libpipeline-a.so")
    let needed = try make("lib/libneeded.so.1")
    _ = try make("lib/key")
    try #require(symlink("key", "\(top)/lib/liblink.so") == 0)
    #expect(places(file) == [file, needed])
    #expect(places(try make("lib/a")) == [top.appending("lib/a")])
  }

  @Test("A folder of its name that holds something private is not its own")
  func secrets() throws {
    let file = try make("colour/colour.py")
    let folder = file.parent
    #expect(places(file, configuration(in: folder)) == [file])
    #expect(places(file, configuration(in: folder.appending("below"))) == [file])
    var other = configuration(in: top)
    other.sources = [SourceConfiguration(path: folder.appending("inbox"))]
    #expect(places(file, other) == [file])
    other.sources = []
    other.catalog = .folder(folder)
    #expect(places(file, other) == [file])
    other.catalog = nil
    #expect(places(file, other) == [folder])
  }

  @Test("Neither a home nor a folder of the system is a plugin's own")
  func homes() {
    for home: BytePath in ["/root", "/home", "/etc", "/var"] {
      #expect(places(home.appending(home.lastComponent)) == [home.appending(home.lastComponent)])
    }
  }

  @Test("A program that is looked for brings no folder along")
  func lookedFor() {
    #expect(WorkerProgram(.executable(["python3", "x"])).ownPlaces == [])
  }
}
