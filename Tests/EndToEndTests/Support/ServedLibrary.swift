import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `serve`, running on a library of a workspace.
final class ServedLibrary {
  let workspace: Workspace
  let run: BuiltProgramRun
  let client: HTTPClient

  /// Starts it on any free port and waits until it answers.
  init(_ workspace: Workspace, _ words: BytePath...) throws {
    self.workspace = workspace
    let run = try workspace.program.start(["serve", "--listen", "127.0.0.1:0", "--json"] + words)
    self.run = run
    var port: UInt16?
    try run.wait(for: "the address") {
      let line = run.outputSoFar.split(separator: UInt8(ascii: "\n")).first
      guard let line, run.outputSoFar.last == UInt8(ascii: "\n") else { return false }
      let url = try JSONText.decode(JSONValue.self, from: line)["url"]?.string
      port = url?.split(separator: ":").last.flatMap { UInt16($0.dropLast()) }
      return true
    }
    client = HTTPClient(place: .port(try #require(port)))
  }

  /// A workspace with pictures, a text, an SVG and a damaged picture, all imported.
  static func made() throws -> Workspace {
    let workspace = try Workspace()
    for (name, width) in [("a.jpg", 300), ("b.jpg", 200), ("<b>&\"'.jpg", 240)] {
      try workspace.put(
        try Pictures.jpeg(width: width, height: 200, exif: PicturesExif(orientation: 1)),
        as: BytePath(name))
    }
    try workspace.put("<script>alert(1)</script>", as: "page.html")
    try workspace.put(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><script>alert(1)</script></svg>",
      as: "x.svg")
    try workspace.put(Array(try Pictures.jpeg(width: 64, height: 64).prefix(700)), as: "cut.jpg")
    try workspace.json("run", exit: 3)
    return workspace
  }

  func get(_ target: String, _ headers: [String: String] = [:]) throws -> HTTPAnswer {
    try client.send("GET", target, headers)
  }

  /// The body of a successful answer as JSON.
  func json(
    _ target: String, _ location: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    let answer = try get(target)
    try #require(answer.status == 200, "\(answer.text)", sourceLocation: location)
    return try answer.json()
  }

  func id(_ name: String) throws -> String {
    try #require(try workspace.asset(named: name)["id"]?.string)
  }

  /// The process that answers.
  func server() throws -> Int32 {
    let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(run.process)/task")
    let children = all.compactMap {
      try? String(contentsOfFile: "/proc/\(run.process)/task/\($0)/children", encoding: .utf8)
    }.joined(separator: " ")
    return try #require(children.split(separator: " ").compactMap { Int32($0) }.first)
  }

  /// The names of the variables that the process that answers has got.
  func serverVariables() throws -> [String] {
    try String(contentsOfFile: "/proc/\(server())/environ", encoding: .utf8)
      .split(separator: "\0").compactMap { $0.split(separator: "=").first.map(String.init) }
      .sorted()
  }

  /// Ends it, and expects that it ends well, and has said nothing.
  func stop(_ location: SourceLocation = #_sourceLocation) throws {
    let said = try said(location)
    #expect(said.isEmpty, sourceLocation: location)
  }

  /// Ends it, and expects that it ends well.
  ///
  /// - Returns: the lines that it has said.
  func said(_ location: SourceLocation = #_sourceLocation) throws -> [String] {
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 20)
    #expect(outcome.exitCode == 143, "\(outcome.errors)", sourceLocation: location)
    return outcome.errors.split(separator: "\n").map(String.init)
  }
}
