import Fixtures
import Foundation
import PipelineModel
import Testing

/// A plugin in Python with the SDK's file beside it, as a process that is spoken to.
final class PythonPlugin {
  let folder: TemporaryFolder
  let process: LineProcess

  /// The file that plugins in Python import.
  static let file = Checkout.root.appending(path: "SDK/python/pipeline_plugin.py")

  /// Starts a plugin.
  ///
  /// - Parameters:
  ///   - body: the lines of its `process(request, host)`.
  ///   - prologue: lines before it.
  ///   - run: what else is passed to `run`.
  init(_ body: String, prologue: String = "", run: String = "") throws {
    folder = try TemporaryFolder()
    let place = URL(filePath: folder.path.description)
    try FileManager.default.copyItem(
      at: Self.file, to: place.appending(path: "pipeline_plugin.py"))
    try FileManager.default.createDirectory(
      at: place.appending(path: "out"), withIntermediateDirectories: false)
    let lines = body.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    let source = """
      import errno, os, subprocess, sys, time
      import pipeline_plugin
      from pipeline_plugin import Failure, Skip
      \(prologue)
      MANIFEST = {
          "id": "sample", "version": "1", "outputVersion": 1, "options": {"type": "object",
          "properties": {"depth": {"type": "integer", "default": 3}, "name": {"type": "string"}}}}
      def process(request, host):
      \(lines)
      pipeline_plugin.run(MANIFEST, process\(run))
      """
    let script = place.appending(path: "sample.py")
    try Data(source.utf8).write(to: script)
    process = try LineProcess(["/usr/bin/python3", script.path], in: folder.path)
  }

  /// The message that begins a job.
  func job(_ name: String = "1", options: JSONValue = [:]) -> JSONValue {
    [
      "type": "process",
      "request": [
        "version": 1, "job": .string(name), "input": .string("\(folder.path)/in.bin"),
        "output": .string("\(folder.path)/out"), "options": options, "facts": [:],
        "asset": ["id": "01a1f897", "name": "in.bin", "digest": "33", "size": 4],
      ],
    ]
  }

  /// Runs one job and returns its result; nothing else must be said before it.
  func result(options: JSONValue = [:]) throws -> JSONValue {
    let answer = try process.ask(job(options: options))
    #expect(answer["type"] == "result" && answer["job"] == "1", "\(answer)")
    return try #require(answer["result"])
  }

  /// Runs one job that must fail, and returns class and reason.
  func failure() throws -> (kind: String, reason: String) {
    let result = try result()
    #expect(result["outcome"] == "failed", "\(result)")
    let failure = try #require(result["failure"])
    return (try #require(failure["class"]?.string), try #require(failure["reason"]?.string))
  }
}
