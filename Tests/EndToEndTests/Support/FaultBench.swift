import Fixtures
import Foundation
import PipelineModel
import Testing

/// Makes the same small library again and again, with another fault each time.
final class FaultBench {
  private let scenario: FaultTests.Scenario
  private let shimFolder: TemporaryFolder
  private let shim: PreloadShim
  private let files: [(name: BytePath, bytes: [UInt8])]
  private var reference: (calls: Int, state: [String])?

  init(_ scenario: FaultTests.Scenario) throws {
    self.scenario = scenario
    shimFolder = try TemporaryFolder()
    shim = try PreloadShim(in: shimFolder.path)
    let picture = try Pictures.jpeg(width: 160, height: 120)
    files = [
      ("a.jpg", picture),
      ("b.png", try Pictures.file(Pictures.picture(width: 90, height: 70), ".png")),
      ("c.txt", Array("A letter.\n".utf8)),
      ("d copy of a.jpg", picture),
      (BytePath(bytes: [0x65, 0xFF, 0xFE, 0x0A, 0x2E, 0x6A]), Array("raw name".utf8)),
    ]
  }

  /// A run without a fault: how many calls it makes, and what it comes to.
  func undisturbed() throws -> (calls: Int, state: [String]) {
    if let reference { return reference }
    let bench = try makeWorkspace()
    let count = shimFolder.appending("count")
    bench.workspace.program.environment.merge(shim.counting(into: count)) { $1 }
    try bench.workspace.json("run")
    bench.workspace.program.environment["LD_PRELOAD"] = nil
    let text = String(decoding: try bench.workspace.read(count), as: UTF8.self)
    let calls = try #require(Int(text))
    try bench.workspace.expectSound("undisturbed")
    let state = try bench.workspace.state()
    try #require(state.count { $0.hasPrefix("asset") } == 4)
    try #require(state.count { $0.hasPrefix("rendition") } == 4)
    reference = (calls, state)
    return (calls, state)
  }

  /// Strikes a run, and the next one for each further strike; then one clean run has to make all good.
  func strike(_ strikes: [(PreloadShim.Strike, Int)]) throws {
    let bench = try makeWorkspace()
    let workspace = bench.workspace
    let story = strikes.map { "\($0.0) at \($0.1)" }.joined(separator: ", ")
    let comment = Comment(rawValue: "\(scenario.rawValue): \(story)")
    var messages: [String] = []
    for (strike, call) in strikes {
      let clean = workspace.program.environment
      workspace.program.environment.merge(shim.striking(strike, at: call)) { $1 }
      let outcome = try workspace.run("run")
      workspace.program.environment = clean
      switch strike {
      case .kill, .tear:
        #expect(outcome.signal == 9 || outcome.exitCode == 0, comment)
      case .ioError, .noSpace:
        #expect([0, 1, 3].contains(outcome.exitCode), comment)
      }
      messages.append(outcome.errors)
    }
    let last = try workspace.run("run")
    #expect(last.exitCode == 0, "\(comment.rawValue): \(last.errors)")
    if try workspace.endDelays() > 0 {
      #expect(try workspace.run("run").exitCode == 0, comment)
    }
    try workspace.expectSound(comment)
    let state = try workspace.state()
    let expected = try undisturbed().state
    // Where the first of two equal files could not be read, the second one is the asset.
    let mayDiffer = strikes.contains { [.ioError, .noSpace].contains($0.0) }
    let isSame = state == expected || mayDiffer && state == Self.withEqualFilesSwapped(expected)
    #expect(
      isSame,
      """
      \(comment.rawValue): missing \(expected.filter { !state.contains($0) }), \
      more \(state.filter { !expected.contains($0) }), said \(messages) \(last.errors)
      """)
  }

  private static func withEqualFilesSwapped(_ state: [String]) -> [String] {
    state.map { line in
      line.replacing("d copy of a.jpg", with: "\0").replacing("a.jpg", with: "d copy of a.jpg")
        .replacing("\0", with: "a.jpg")
    }.sorted()
  }

  /// A library to be, with five files in its source; the folder is kept as long as the workspace.
  private func makeWorkspace() throws -> (workspace: Workspace, source: SharedMemoryFolder?) {
    let storage: JSONValue = scenario == .storedAsFiles ? "file" : "auto"
    let elsewhere = scenario == .otherFileSystem ? try SharedMemoryFolder() : nil
    let path = elsewhere?.path.description ?? "inbox"
    let workspace = try Workspace(
      sources: [
        [
          "path": .string(path), "settle": "0ms", "mode": scenario == .copy ? "copy" : "move",
          "duplicates": scenario == .keptDuplicates ? "keep" : "discard",
        ]
      ],
      stages: Workspace.stages(thumbnails: ["storage": storage]))
    for (name, bytes) in files { try workspace.put(bytes, as: name, in: elsewhere?.path) }
    return (workspace, elsewhere)
  }
}

/// A folder on a file system in memory.
final class SharedMemoryFolder {
  let path: BytePath

  init() throws {
    let folder = URL(fileURLWithPath: "/dev/shm/pipeline-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    path = BytePath(folder.path)
  }

  deinit {
    // Clean-up only; `rm` also removes names that are not UTF-8.
    let remove = Process()
    remove.executableURL = URL(fileURLWithPath: "/bin/rm")
    remove.arguments = ["-rf", "--", path.description]
    try? remove.run()
    remove.waitUntilExit()
  }
}
