import Fixtures
import Foundation
import PipelineModel
import Testing

/// What a build says of plugins whose library is not there.
@Suite("Plugins that are left out", .timeLimit(.minutes(1)))
struct LeftOutPluginTests {
  private static let script = Checkout.root.appending(path: "Packaging/left-out-plugins")

  private func run(_ words: [String]) throws -> String {
    let process = Process()
    process.executableURL = Self.script
    process.arguments = words
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: output, as: UTF8.self)
  }

  @Test("A plugin without its library is named, and what an earlier build made of it removed")
  func leftOut() throws {
    let folder = try TemporaryFolder()
    let plugin = folder.appending("libpipeline-metadata.so").description
    let other = folder.appending("libpipeline-identify.so").description
    for file in [plugin, other] { try Data("library".utf8).write(to: URL(filePath: file)) }
    let others = ["libavformat", "libraw", "libopenjp2", "MagickCore"]
    #expect(try run([folder.path.description, "gexiv2"] + others) == "")
    #expect(FileManager.default.fileExists(atPath: plugin))
    #expect(
      try run([folder.path.description] + others)
        == "The plugin metadata is left out: gexiv2 is not installed (libgexiv2-dev).\n")
    #expect(!FileManager.default.fileExists(atPath: plugin))
    #expect(FileManager.default.fileExists(atPath: other))
  }

  @Test("Package.swift, the Makefile and the script know the same libraries")
  func same() throws {
    func text(_ name: String) throws -> String {
      try String(contentsOf: Checkout.root.appending(path: name), encoding: .utf8)
    }
    let manifest = Set(
      try text("Package.swift").matches(of: /(?:isInstalled\(|by: )"([^"]+)"/).map {
        String($0.output.1)
      })
    let list = try #require(try text("Makefile").firstMatch(of: /for name in ([^;]+);/))
    let script = try text("Packaging/left-out-plugins").matches(
      of: /(?m)^[a-z-]+ ([A-Za-z0-9]+) lib[a-z0-9-]+-dev .+$/
    ).map { String($0.output.1) }
    #expect(!manifest.isEmpty)
    #expect(Set(list.output.1.split(separator: " ").map(String.init)) == manifest)
    #expect(Set(script) == manifest)
  }
}
