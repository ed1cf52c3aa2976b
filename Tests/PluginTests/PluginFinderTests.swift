import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing

@Suite("Finding plugins", .timeLimit(.minutes(1)))
final class PluginFinderTests {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "pipeline-finder-\(UUID().uuidString)")
    for name in ["first", "second", "usr/bin", "usr/lib/pipeline/plugins"] {
      try FileManager.default.createDirectory(
        at: folder.appending(path: name), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o755])
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func path(_ name: String) -> BytePath { BytePath(folder.appending(path: name).path) }

  private func put(_ name: String) throws {
    let file = folder.appending(path: name)
    try Data("no library at all".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
  }

  private var finder: PluginFinder {
    PluginFinder(configured: [path("first"), path("second")], executable: path("usr/bin/pipeline"))
  }

  @Test("The first folder that has a plugin wins: configured, installed, then the program's own")
  func order() throws {
    for name in [
      "second/libpipeline-a.so", "usr/lib/pipeline/plugins/libpipeline-a.so",
      "usr/bin/libpipeline-a.so", "usr/lib/pipeline/plugins/libpipeline-b.so",
      "usr/bin/libpipeline-b.so", "usr/bin/libpipeline-c-d.so",
    ] { try put(name) }
    #expect(try finder.find("a") == path("second/libpipeline-a.so"))
    #expect(try finder.find("b") == path("usr/lib/pipeline/plugins/libpipeline-b.so"))
    #expect(try finder.find("c-d") == path("usr/bin/libpipeline-c-d.so"))
    try put("first/libpipeline-a.so")
    #expect(try finder.find("a") == path("first/libpipeline-a.so"))
    #expect(try finder.all().map(\.id) == ["a", "b", "c-d"])
  }

  @Test("Other files are no plugins")
  func others() throws {
    for name in [
      "libpipeline-.so", "libpipeline-A.so", "libpipeline-a.so.1", "libother-a.so", "a.so",
      "libpicture-decoder-a.so",
    ] {
      try put("first/\(name)")
    }
    #expect(try finder.all().isEmpty)
    let failure = #expect(throws: PluginFailure.self) { try self.finder.find("a") }
    #expect(failure?.class == .environment)
    #expect(failure?.reason.contains("libpipeline-a.so is in none of") == true)
  }

  @Test("A folder that others may write is refused where it was configured, and told of elsewhere")
  func writableFolder() throws {
    try put("usr/bin/libpipeline-b.so")
    try set(0o777, "usr/bin")
    let found = try #require(try finder.all().first)
    #expect(found.refusal?.contains("chmod go-w") == true)
    #expect(throws: PluginFailure.self) { try self.finder.find("b") }
    try put("first/libpipeline-a.so")
    try set(0o757, "first")
    #expect(throws: PluginFailure.self) { try self.finder.all() }
  }

  @Test("A library that others may write is listed with the reason, and not found")
  func writableLibrary() throws {
    try put("first/libpipeline-a.so")
    try set(0o666, "first/libpipeline-a.so")
    #expect(try finder.all().map(\.refusal?.isEmpty) == [false])
    #expect(throws: PluginFailure.self) { try self.finder.find("a") }
  }

  @Test("A configured folder that is missing is an error; a built-in one is not")
  func missingFolder() throws {
    try FileManager.default.removeItem(at: folder.appending(path: "usr"))
    #expect(try finder.all().isEmpty)
    try FileManager.default.removeItem(at: folder.appending(path: "second"))
    #expect(throws: PluginFailure.self) { try self.finder.all() }
  }

  @Test("A built program finds its bundled plugins by itself")
  func ownFolder() throws {
    let finder = PluginFinder()
    for id in ["identify", "thumbnail"] {
      #expect(try finder.find(id).lastComponent == BytePath("libpipeline-\(id).so"))
    }
  }

  @Test("Decoders, which lie beside the bundled plugins, are not listed as plugins")
  func decoders() throws {
    let own = try #require(PluginFinder.ownExecutable?.parent)
    let files = try FileManager.default.contentsOfDirectory(atPath: own.description)
    let plugins = files.compactMap { file in
      file.wholeMatch(of: /libpipeline-([a-z0-9-]+)\.so/).map { String($0.output.1) }
    }
    #expect(try PluginFinder().all().map(\.id) == plugins.sorted())
    try put("first/libpicture-decoder-raw.so")
    #expect(try finder.all().isEmpty)
    for id in ["raw", "decoder-raw", "picture-decoder-raw"] { #expect(finder.hasNo(id)) }
  }

  private func set(_ mode: Int, _ name: String) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: folder.appending(path: name).path)
  }
}
