import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing

/// A recorded run, and what the disk would be at any moment of it.
final class PowerLossBench {
  private let scenario: FaultScenario
  private let shimFolder: TemporaryFolder
  private let shim: TraceShim
  private let workspace: Workspace
  private let before: DiskModel
  private let records: [TraceRecord]
  private let state: [String]
  /// After how many calls the power is cut: before each flush, and after it.
  let moments: [Int]

  /// - Parameter believes: whether a flush is believed, of a file whose path is given if it still
  ///   has one; a control leaves some out.
  init(
    _ scenario: FaultScenario, believes: (TraceRecord, BytePath?) -> Bool = { _, _ in true }
  ) throws {
    self.scenario = scenario
    shimFolder = try TemporaryFolder()
    shim = try TraceShim(in: shimFolder.path)
    // In memory no inode number is used again, so that none that is shown can be another file's.
    workspace = try scenario.makeWorkspace(inMemory: true).workspace
    before = try DiskModel(of: workspace.root)
    let trace = shimFolder.appending("trace")
    workspace.program.environment.merge(shim.tracing(into: trace)) { $1 }
    try workspace.json("run")
    workspace.program.environment["LD_PRELOAD"] = nil
    let paths = try Self.paths(in: workspace)
    let records = try TraceRecord.parse(try workspace.read(trace)).filter {
      !$0.isSync || believes($0, paths[$0.inode])
    }
    self.records = records
    var after = DiskModel(of: before)
    for record in records { after.apply(record) }
    try Self.requireSame(after.files, try DiskModel(of: workspace.root).files)
    state = try workspace.state()
    moments = Set(
      records.indices.filter { records[$0].isSync }.flatMap { [$0, $0 + 1] } + [records.count]
    ).sorted()
  }

  /// The paths of all files by their inodes, relative to the workspace.
  private static func paths(in workspace: Workspace) throws -> [UInt64: BytePath] {
    let root = try Descriptor.openFolder(workspace.root)
    let pairs = try workspace.files(below: "").map { path in
      let folder = try root.openParent(of: path)
      return (try folder.status(of: path.lastComponent).identity.inode, path)
    }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }

  /// The trace tells everything if replaying it gives the files that there are.
  private static func requireSame(
    _ replayed: [BytePath: [UInt8]], _ found: [BytePath: [UInt8]]
  ) throws {
    let isShared: (BytePath) -> Bool = { $0.bytes.suffix(4).elementsEqual("-shm".utf8) }
    try #require(
      Set(replayed.keys.filter { !isShared($0) }) == Set(found.keys.filter { !isShared($0) }))
    for (path, bytes) in found where !isShared(path) {
      try #require(replayed[path] == bytes, "“\(path.printable)” is not what the trace says.")
    }
  }

  /// Cuts the power at moments, in each way that it can be lost.
  ///
  /// - Parameter sourceIsAway: whether the source can't be seen by the run that follows, and is
  ///   back for the next.
  func cutPower(
    at chosen: [Int], losses: [DiskModel.Loss] = DiskModel.Loss.allCases, sourceIsAway: Bool = false
  ) throws {
    let start = ContinuousClock.now
    var model = DiskModel(of: before)
    var done = 0
    for moment in chosen.map({ moments[$0] }) {
      while done < moment {
        model.apply(records[done])
        done += 1
      }
      for loss in losses { try cutPower(model, moment, loss, sourceIsAway) }
    }
    FaultSelection.progress(
      "\(scenario.rawValue): power cut at \(chosen.count) of \(moments.count) moments in "
        + "\(losses.count) ways in \(ContinuousClock.now - start)")
  }

  private func cutPower(
    _ model: DiskModel, _ moment: Int, _ loss: DiskModel.Loss, _ sourceIsAway: Bool
  ) throws {
    let comment = Comment(rawValue: "\(scenario.rawValue): power cut at \(moment), loses \(loss)")
    let acknowledged = try events(before: moment).filter {
      ["imported", "duplicate"].contains($0["outcome"]?.string)
    }
    var image = DiskImage(model, after: loss, using: SeededRandom(for: "pages at \(moment)"))
    let shown = shimFolder.appending("shown")
    try workspace.write(try image.build(), to: shown)
    let clean = workspace.program.environment
    workspace.program.environment.merge(shim.showing(shown)) { $1 }
    defer { workspace.program.environment = clean }
    if sourceIsAway {
      let (here, away) = (workspace.inbox, workspace.root.appending("away"))
      try #require(rename(here.description, away.description) == 0)
      try workspace.makeFolder(here)
      #expect(try workspace.run("run").exitCode == 0, comment)
      try #require(rmdir(here.description) == 0)
      try #require(rename(away.description, here.description) == 0)
    }
    let run = try workspace.run("run", "--json")
    #expect(run.exitCode == 0, "\(comment.rawValue): \(run.output)\(run.errors)")
    try workspace.expectSound(comment)
    let assets = try workspace.assets()
    for event in acknowledged {
      let path = try #require(event["path"]?.string)
      let name = BytePath(try #require(path.split(separator: "/").last.map(String.init)))
      // A raw name's escapes are not undone here; its asset is looked for all the same.
      let bytes = scenario.files.first { $0.name == name }?.bytes
      let asset = assets.first { $0["id"] == event["asset"] }
      #expect(asset != nil, "\(comment.rawValue): \(path) was acknowledged and is not there")
      if let bytes {
        #expect(asset?["digest"]?.string == SHA256.digest(of: bytes).hex, comment)
      }
    }
    let known = Set(scenario.files.map { SHA256.digest(of: $0.bytes).hex })
    #expect(assets.allSatisfy { known.contains($0["digest"]?.string ?? "") }, comment)
    // Where a file may have two names at once, or its source was away, paths may end in other
    // states than in an undisturbed run; that no byte is lost was asked already.
    guard loss != .everything, !sourceIsAway else { return }
    let now = try workspace.state()
    #expect(
      now == state,
      """
      \(comment.rawValue): missing \(state.filter { !now.contains($0) }), \
      more \(now.filter { !state.contains($0) }), said \(run.errors)
      """)
  }

  /// What the program had printed by then, as far as its lines are whole.
  private func events(before moment: Int) throws -> [JSONValue] {
    let bytes = records[..<moment].filter { $0.kind == .output }.flatMap(\.first)
    return bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
      .compactMap { line in
        // What is no JSON is a line that the cut ended early.
        try? JSONText.decode(JSONValue.self, from: String(decoding: line, as: UTF8.self))
      }
      .filter { $0["event"]?.string == "file" }
  }
}
