import Fixtures
import Foundation
import PipelineModel
import Testing

/// Damaged files by the thousand, through the whole program.
///
/// With `PIPELINE_FUZZ=1` every prefix of every sample and 10,000 changed files are
/// tried, otherwise a selection. They are others in each run, but for the same `PIPELINE_SEED`.
@Suite("Damaged files", .timeLimit(.minutes(120)), .seeded)
struct FuzzTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isFull = environment["PIPELINE_FUZZ"] == "1"

  /// How much memory the program may have at any time, in KiB.
  private static let most = 96 << 10
  /// How much of that may come in the second half, in KiB.
  private static let growth = 16 << 10

  /// How long a run may take, in seconds.
  private static let patience: Double = isFull ? 3000 : 120

  private static let stages: JSONValue = {
    let limits: JSONValue = ["memory": "512MiB", "outputBytes": "16MiB"]
    // One attempt each, so that the first run brings every job to an end.
    let common: [String: JSONValue] = ["attempts": 1, "timeout": "30s", "limits": limits]
    func stage(_ members: [String: JSONValue]) -> JSONValue {
      .object(members.merging(common) { $1 })
    }
    var stages = [
      stage(["name": "identify", "plugin": "identify"]),
      stage([
        "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"],
        "options": ["sizes": [["name": "grid", "maxPixelSize": 32]]],
      ]),
    ]
    #if METADATA
      stages.append(stage(["name": "tags", "plugin": "metadata", "needs": ["identify"]]))
    #endif
    return .array(stages)
  }()

  @Test("Every prefix of small files, and files changed at random, come to a known end")
  func fuzz() throws {
    let workspace = try Workspace(stages: Self.stages)
    let files = try Self.files()
    for (name, bytes) in files { try workspace.put(bytes, as: name) }
    // A core file would be written if anything let it.
    workspace.program.prefix = [
      "/bin/sh", "-c", "ulimit -Sc \"$(ulimit -Hc)\"; exec \"$@\"", "sh",
    ]
    let start = ContinuousClock.now
    var memory = MemoryMonitor()
    let outcome = try memory.wait(
      for: workspace.program.start(["run", "--json"]), within: Self.patience)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    workspace.program.prefix = []
    try #require(
      outcome.exitCode == 0 || outcome.exitCode == 3,
      "exit \(outcome.exitCode ?? -1), signal \(outcome.signal ?? 0): \(outcome.errors.suffix(2000))"
    )
    try workspace.expectNobodyLeft()
    try expectAllTaken(files, outcome, workspace)
    try expectKnownEnds(workspace)
    Self.tell(files.count, seconds, memory)
    #expect(memory.peak < Self.most)
    if Self.isFull {
      #expect(memory.median(from: 0.8, to: 1) < memory.median(from: 0.4, to: 0.6) + Self.growth)
    }
    try expectSound(workspace)
    let again = try workspace.run("run", "--json", within: Self.patience)
    #expect(again.exitCode == 0, "\(again.errors)")
    #expect(try again.events("job") == [] && again.event("summary")["imported"] == 0)
  }

  /// The same questions as always; of tens of thousands of files they are asked by `verify`.
  private func expectSound(_ workspace: Workspace) throws {
    if !Self.isFull { return try workspace.expectSound() }
    #expect(try workspace.files(below: "library/incoming") == [])
    #expect(try workspace.files(below: "library/work") == [])
    #expect(try workspace.query("PRAGMA integrity_check; PRAGMA foreign_key_check") == ["ok"])
    let verified = try workspace.run("verify", "--json", within: Self.patience)
    #expect(verified.exitCode == 0, "\(verified.output.suffix(2000)) \(verified.errors)")
    #expect(try verified.event("summary")["problems"] == 0)
  }

  /// Names and bytes of all files, the same for the same seed.
  private static func files() throws -> [(name: BytePath, bytes: [UInt8])] {
    let samples = try FuzzSample.all()
    try #require(samples.count >= 20)
    var files = samples.flatMap { sample in
      (0...sample.bytes.count).map { count in
        (
          name: BytePath("\(sample.name)-\(count).\(sample.suffix)"),
          bytes: Array(sample.bytes.prefix(count))
        )
      }
    }
    var random = SeededRandom(for: "fuzz, prefixes")
    if !isFull { files = Array(files.shuffled(using: &random).prefix(200)) }
    var mutator = FuzzMutator(samples, random: SeededRandom(for: "fuzz, changes"))
    for number in 1...(isFull ? 10_000 : 150) {
      let (sample, bytes) = mutator.next()
      files.append((BytePath("changed-\(number)-\(sample.name).\(sample.suffix)"), bytes))
    }
    return files
  }

  /// Each file is an asset, or the same as one; an empty one is refused. Each sidecar is an asset, whatever
  /// its bytes.
  private func expectAllTaken(
    _ files: [(name: BytePath, bytes: [UInt8])], _ outcome: BuiltProgramOutcome,
    _ workspace: Workspace
  ) throws {
    let last = try #require(outcome.output.split(separator: "\n").last)
    let summary = try JSONText.decode(JSONValue.self, from: String(last))
    let taken = files.filter { !$0.bytes.isEmpty }
    let sidecars = taken.count { $0.name.description.hasSuffix(".xmp") }
    let isSidecar = "name LIKE '%.xmp'"
    let counts = try workspace.query(
      """
      SELECT count(DISTINCT digest) FROM assets;
      SELECT count(*) FROM assets WHERE \(isSidecar);
      SELECT count(*) - count(DISTINCT digest) FROM assets WHERE NOT \(isSidecar);
      """)
    #expect(counts == ["\(Set(taken.map(\.bytes)).count)", "\(sidecars)", "0"])
    let assets = try #require(summary["imported"]?.integer)
    #expect(summary["event"] == "summary")
    #expect(summary["duplicates"]?.integer == taken.count - assets)
    #expect(summary["rejected"]?.integer == files.count - taken.count)
    let totals = try workspace.query(
      "SELECT count(*) FROM assets; SELECT count(*) FROM jobs;")
    #expect(totals == ["\(assets)", "\(assets * (Self.stages.array?.count ?? 0))"])
  }

  /// Each job is done, skipped or failed, and the last two say why.
  private func expectKnownEnds(_ workspace: Workspace) throws {
    let unknown = try workspace.query(
      """
      SELECT name || ': ' || stage || ' ' || state || ' ' || coalesce(reason, '') FROM jobs
      WHERE state NOT IN ('done', 'skipped', 'failed')
        OR state <> 'done' AND length(coalesce(reason, '')) < 10 LIMIT 20
      """)
    #expect(unknown == [])
    // What the machine is to blame for would be a file's failure for nothing.
    let blameless = try workspace.query(
      "SELECT name || ': ' || reason FROM failures WHERE class = 'environment' LIMIT 20")
    #expect(blameless == [])
    for line in try workspace.query(
      """
      SELECT stage || ': ' || count(*) || ' ' || state || ' ' || coalesce(class, '') FROM jobs
      GROUP BY stage, state, class
      UNION ALL
      SELECT name || ': ' || reason FROM failures WHERE class = 'transient'
      """)
    { FaultSelection.progress("fuzz, \(line)") }
  }

  private static func tell(_ count: Int, _ seconds: Double, _ memory: MemoryMonitor) {
    func mebibytes(_ size: Int) -> String { "\((size + 512) >> 10) MiB" }
    FaultSelection.progress(
      "fuzz, seed \(RunSeed.value): \(count) files in \(Int(seconds)) s; resident memory of the program: "
        + "\(mebibytes(memory.median(from: 0.4, to: 0.6))) in the middle, "
        + "\(mebibytes(memory.median(from: 0.8, to: 1))) at the end, "
        + "\(mebibytes(memory.peak)) at most")
  }
}
