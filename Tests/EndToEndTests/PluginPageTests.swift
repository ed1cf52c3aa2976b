import Fixtures
import Foundation
import PipelineModel
import Testing

/// What docs/plugins.md tells plugin authors to do makes plugins that work.
@Suite("The page for plugin authors holds", .timeLimit(.minutes(5)))
struct PluginPageTests {
  private static let page = "docs/plugins.md"

  /// The fenced blocks of one language in a section of the page.
  private func block(_ language: String, _ section: String) throws -> String {
    try DocumentFolder.blocks(language, of: Self.page, section: section)
  }

  @Test("The plugin in C is what `plugins new` writes, has at most 60 lines, builds and runs")
  func pluginInC() throws {
    let place = try DocumentFolder()
    let source = try block("c", "A plugin in C")
    #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count <= 61)
    try place.makeFolder("try-c")
    try place.write(try block("json", "A plugin in C"), to: "try-c/pipeline.json")
    let outcome = try place.run(try block("sh", "A plugin in C"))
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(outcome.text.contains("size.bytes"))
    #expect(try place.read("try-c/size/size.c") == source)
  }

  @Test("The plugin in Swift is what `plugins new` writes, builds and is found")
  func pluginInSwift() throws {
    let place = try DocumentFolder()
    let script = """
      pipeline plugins new size --language swift
      cd size
      PIPELINE_SOURCES="$SOURCES" \(Self.swift) build
      cat > pipeline.json <<<'{"library":"library","plugins":[".build/debug"],"stages":[]}'
      pipeline plugins size
      pipeline plugins test .build/debug/libpipeline-size.so
      """
    let outcome = try place.run(script)
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(outcome.text.contains("kilobytes"))
    let shown = try block("swift", "A plugin in Swift")
    let written = try ["Package.swift", "Sources/SizePlugin.swift"].map {
      try place.read("size/\($0)")
    }
    #expect(shown == written.joined())
  }

  /// The toolchain that runs this test, whatever `PATH` says.
  private static var swift: String {
    let paths = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let found = paths.split(separator: ":").map { "\($0)/swift" }
    return found.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "swift"
  }

  @Test("The plugin in Python has less than 40 lines and finds the average colour")
  func pluginInPython() throws {
    let place = try DocumentFolder()
    let source = try block("python", "A plugin in Python")
    #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count < 40)
    let outcome = try place.run(try block("sh", "A plugin in Python"))
    try #require(outcome.status == 0, "\(outcome.text)")
    try place.write(source, to: "try/colour/colour.py")
    try place.write(try block("json", "A plugin in Python"), to: "try/pipeline.json")
    // Two pixels, (200, 0, 0) and (0, 100, 50), as a bitmap has them: blue first.
    try Data(Self.bitmap([0, 0, 200, 50, 100, 0])).write(
      to: place.home.appending(path: "two.bmp"))
    let answers = try talk("try/colour/colour.py", about: "two.bmp", in: place)
    #expect(answers.manifest["accepts"] == ["image/*"])
    #expect(
      answers.result["facts"] == ["red": 100, "green": 50, "blue": 25, "hex": "#643219"],
      "\(answers.result)")
    let trial = try place.run(try block("sh", "Try it"))
    #expect(trial.status == 0, "\(trial.text)")
    #expect(trial.text.contains("colour.hex") && trial.text.contains("standard output"))
  }

  @Test("The plugin without an SDK counts lines, and passes the checks")
  func plainPlugin() throws {
    let place = try DocumentFolder()
    try place.write(try block("python", "In any language"), to: "lines.py")
    let checks = try place.run("chmod +x lines.py; pipeline plugins test lines.py")
    #expect(checks.status == 0, "\(checks.text)")
    try place.write("one\ntwo\nthree\n", to: "text")
    let answers = try talk("lines.py", about: "text", in: place)
    #expect(answers.manifest["id"] == "lines")
    #expect(answers.result == ["outcome": "done", "facts": ["lines": 3]])
  }

  /// Lets a plugin in Python do one job.
  private func talk(
    _ script: String, about file: String, in place: DocumentFolder
  ) throws -> (manifest: JSONValue, result: JSONValue) {
    let home = BytePath(place.home.path)
    let plugin = try LineProcess(
      ["/usr/bin/python3", "\(home.appending(BytePath(script)))"], in: home)
    let manifest = try plugin.ask(["type": "hello", "protocol": 1])["manifest"]
    #expect(try plugin.ask(["type": "create", "options": [:]]) == ["type": "created"])
    try plugin.send(["type": "cancel", "job": "0"])
    #expect(try plugin.ask(["type": "sing"]) == ["type": "unsupported"])
    let answer = try plugin.ask([
      "type": "process",
      "request": [
        "version": 1, "job": "1", "input": .string("\(home)/\(file)"),
        "output": .string("\(home)"), "options": [:], "facts": [:], "asset": ["size": 1],
      ],
    ])
    #expect(answer["type"] == "result" && answer["job"] == "1")
    #expect(try plugin.end() == (0, ""))
    return (try #require(manifest), try #require(answer["result"]))
  }

  /// A picture of two pixels side by side. Source: BITMAPFILEHEADER, BITMAPINFOHEADER.
  private static func bitmap(_ pixels: [UInt8]) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let file = Array("BM".utf8) + number(62, 4) + number(0, 4) + number(54, 4)
    let info = [(40, 4), (2, 4), (1, 4), (1, 2), (24, 2), (0, 4), (8, 4)].flatMap(number)
    return file + info + number(0, 16) + pixels + [0, 0]
  }
}
