import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Synchronization
import Testing

/// A machine that takes the place of a lost one, with what bucket and database have of its manifest.
@Suite(
  "The place of a lost machine",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(5)))
struct JoinedTakeoverTests {
  /// Whether copies of the manifest are refused.
  private final class Refusal: Sendable {
    let isOn = Atomic(false)
  }

  private let refusal = Refusal()
  private let proxy: FaultProxy
  private let bench: JoinedBench
  private var workspace: Workspace { bench.workspace }

  init() throws {
    proxy = try FaultProxy(to: ObjectServer.shared.get().port) { [refusal] request in
      refusal.isOn.load(ordering: .relaxed) && request.method == "PUT"
        && request.target.contains("manifest/") ? .status(403) : .none
    }
    bench = try JoinedBench(through: proxy.endpoint)
  }

  /// Records files of both machines that no copy of the manifest has, and loses the machine.
  ///
  /// - Returns: what the catalog says of each asset.
  private func loseLastFacts() throws -> [[String: JSONValue]] {
    try workspace.put("copied", as: "copied.txt")
    try workspace.json("run")
    refusal.isOn.store(true, ordering: .relaxed)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try workspace.put("of the first machine", as: "first.txt")
    try bench.wait(forFiles: 2)
    try bench.put(["a.txt", "b.txt"])
    try bench.wait(forFiles: 4)
    try bench.end(second)
    watch.signal(SIGKILL)
    _ = try watch.wait(within: 30)
    let facts = try workspace.facts()
    try workspace.lose()
    refusal.isOn.store(false, ordering: .relaxed)
    return facts
  }

  @Test(
    "What a lost machine recorded after the last copy of its manifest is in the database, and the next one goes on with it"
  )
  func lastFacts() throws {
    defer { proxy.end() }
    let before = try loseLastFacts()
    let attempts = try bench.shared.count("attempt")
    #expect(before.count == 4)
    let restored = try workspace.json("restore-library").of("restored").first
    // An intent and a fact for each file.
    #expect(restored?["factsOfCatalog"] == 6, "\(String(describing: restored))")
    let run = try workspace.run("run")
    #expect(run.exitCode == 0 && run.errors == "", "\(run)")
    #expect(try workspace.facts() == before)
    // No job was done again, and no catalog made anew.
    #expect(try bench.shared.count("attempt") == attempts)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    try bench.expectSound()
    // What the lost machine's manifest has, the new one and its copy have, too.
    let manifest = try workspace.read("library/manifest/0001.jsonl")
    #expect(try manifest.starts(with: workspace.read("lost/manifest/0001.jsonl")))
    #expect(try workspace.bucket?.manifest() == ["0001.jsonl": manifest])
    // And it goes on, with the other machine.
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.put(["c.txt"])
    try bench.wait(forFiles: 5)
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }

  @Test("A machine that is lost before its manifest was ever copied has all in the database")
  func neverCopied() throws {
    defer { proxy.end() }
    refusal.isOn.store(true, ordering: .relaxed)
    try bench.put(["a.txt"])
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.wait(forFiles: 1)
    try bench.end(second)
    watch.signal(SIGKILL)
    _ = try watch.wait(within: 30)
    let before = try workspace.facts()
    #expect(try workspace.bucket?.manifest() == [:])
    try workspace.lose()
    refusal.isOn.store(false, ordering: .relaxed)
    let restored = try workspace.json("restore-library").of("restored").first
    #expect(
      restored?["segments"] == 0 && restored?["factsOfCatalog"] == 2,
      "\(String(describing: restored))")
    try workspace.json("run")
    #expect(try workspace.facts() == before)
    try bench.expectSound()
    // Without these lines there is nothing to go by.
    try workspace.lose(as: "lost again")
    for name in try #require(workspace.bucket).manifest().keys {
      try workspace.bucket?.remove("manifest/\(name)")
    }
    try bench.shared.database.execute("DELETE FROM pipeline.manifest_tail")
    let refused = try workspace.run("restore-library")
    #expect(refused.exitCode == 1 && refused.errors.contains("no copy of a manifest"), "\(refused)")
  }

  @Test("A library whose machine is lost before anything was recorded is made again without a fact")
  func beforeFirstFact() throws {
    defer { proxy.end() }
    // As when the first file was stored, and not yet recorded.
    let library = try bench.shared.database.text(
      "SELECT value FROM pipeline.setting WHERE key = 'library'")
    let marker = JSONValue.object(["library": .string(library)])
    try workspace.bucket?.writeMarker(Array(JSONText.encodePretty(marker).utf8))
    try workspace.lose()
    let restored = try workspace.json("restore-library").of("restored").first
    #expect(restored?["facts"] == 0, "\(String(describing: restored))")
    // Nor need it have claimed its place, if nothing is there.
    try workspace.bucket?.removeMarker()
    try workspace.lose(as: "lost again")
    try workspace.bucket?.writeManifest([], as: "0001.jsonl")
    let used = try workspace.run("restore-library")
    #expect(used.exitCode == 1 && !workspace.exists("library"), "\(used)")
    try workspace.bucket?.remove("manifest/0001.jsonl")
    try workspace.json("restore-library")
    try workspace.put("text", as: "a.txt")
    #expect(try workspace.json("run").summary["imported"] == 1)
    try bench.expectSound()
    // Now it needs to have.
    try workspace.bucket?.removeMarker()
    try workspace.lose(as: "lost for good")
    let refused = try workspace.run("restore-library")
    #expect(refused.exitCode == 1 && refused.errors.contains("no library.json"), "\(refused)")
  }

  @Test("A catalog that was made anew, or moved, has the lines of the former one")
  func madeAnew() throws {
    defer { proxy.end() }
    refusal.isOn.store(true, ordering: .relaxed)
    try workspace.put("text", as: "a.txt")
    _ = try workspace.run("run")
    let before = try workspace.facts()
    try workspace.json("rebuild-catalog")
    try workspace.lose()
    #expect(
      try workspace.json("restore-library").of("restored").first?["factsOfCatalog"] == 2)
    let other = try PostgreSQLServer.shared.makeDatabase()
    try workspace.configure(stages: [JoinedBench.identify], ["catalog": .string(other.uri)])
    try workspace.json("move-catalog", "--from", BytePath(bench.shared.address.uri))
    try workspace.lose(as: "lost again")
    #expect(
      try workspace.json("restore-library").of("restored").first?["factsOfCatalog"] == 2)
    refusal.isOn.store(false, ordering: .relaxed)
    try workspace.json("run")
    #expect(try workspace.facts() == before)
    try workspace.expectSoundLibrary()
  }

  @Test("What was seen to be copied is forgotten, but not before: a late request may undo a copy")
  func forgotten() throws {
    defer { proxy.end() }
    var copies: [[String: [UInt8]]] = []
    for number in 0..<3 {
      try workspace.put("text \(number)", as: BytePath("\(number).txt"))
      try workspace.json("run")
      copies.append(try #require(try workspace.bucket?.manifest()))
    }
    let before = try workspace.facts()
    // Each run has two facts, and looked when it copied its own.
    #expect(try bench.shared.count("manifest_tail WHERE first <= 4") == 0)
    #expect(try bench.shared.count("manifest_tail WHERE last = 6") == 1)
    for (name, bytes) in copies[1] { try workspace.bucket?.writeManifest(bytes, as: name) }
    try workspace.lose()
    let restored = try workspace.json("restore-library").of("restored").first
    #expect(restored?["factsOfCatalog"] == 2, "\(String(describing: restored))")
    try workspace.json("run")
    #expect(try workspace.facts() == before)
    try bench.expectSound()
  }

  @Test(
    "While the database can't be asked nothing is restored; one without a catalog has nothing to add"
  )
  func withoutDatabase() throws {
    defer { proxy.end() }
    _ = try loseLastFacts()
    try bench.shared.configure(
      "away.json", stages: [JoinedBench.identify],
      ["catalog": "postgresql://pipeline@127.0.0.1:1/photos"])
    let refused = try workspace.run("restore-library", "--config", "away.json", within: 120)
    #expect(
      refused.exitCode == 1 && refused.errors.contains("recorded last"), "\(refused)")
    #expect(!workspace.exists("library") && !workspace.exists(".library.restored"))
    let empty = try PostgreSQLServer.shared.makeDatabase()
    try bench.shared.configure(
      "empty.json", stages: [JoinedBench.identify], ["catalog": .string(empty.uri)])
    let restored = try workspace.json("restore-library", "--config", "empty.json")
      .of("restored").first
    #expect(restored?["factsOfCatalog"] == 0, "\(String(describing: restored))")
    let behind = try workspace.run("run")
    #expect(behind.exitCode == 1 && behind.errors.contains("restore-library"), "\(behind)")
  }

  @Test(
    "Lines in the database that are damaged, missing or of another history are left out, and that is said"
  )
  func unfit() throws {
    defer { proxy.end() }
    let before = try loseLastFacts()
    let database = bench.shared.database
    try database.execute("CREATE TABLE kept AS SELECT * FROM pipeline.manifest_tail")
    let table = "pipeline.manifest_tail"
    let damage = "UPDATE \(table) SET lines = set_byte(lines, 40, 1) WHERE first ="
    for (index, (change, reason)) in [
      ("\(damage) (SELECT max(first) FROM \(table))", "is damaged"),
      ("DELETE FROM \(table) WHERE first = 3", "are missing from the manifest"),
      ("\(damage) 1", "not those of the manifest"),
      ("DELETE FROM \(table) WHERE first > 2", "has 8 facts, the manifest only 2"),
    ].enumerated() {
      try database.execute(change)
      let restored = try workspace.run("restore-library")
      #expect(restored.exitCode == 0 && restored.errors.contains(reason), "\(restored)")
      let behind = try workspace.run("run")
      #expect(
        behind.exitCode == 1
          && behind.errors.contains(index < 3 ? "restore-library" : "rebuild-catalog"),
        "\(reason) \(behind)")
      try workspace.lose(as: BytePath("unfit-\(index)"))
      try database.execute("DELETE FROM \(table); INSERT INTO \(table) SELECT * FROM kept")
    }
    try workspace.json("restore-library")
    try workspace.json("run")
    #expect(try workspace.facts() == before)
    try bench.expectSound()
  }

  @Test(
    "With a backup of the library's folder that is older than what the database has, nothing is recorded"
  )
  func olderFolder() throws {
    defer { proxy.end() }
    try workspace.put("copied", as: "copied.txt")
    try workspace.json("run")
    let root = workspace.root
    try copy("library", as: "backup")
    refusal.isOn.store(true, ordering: .relaxed)
    try workspace.put("more", as: "more.txt")
    _ = try workspace.run("run")
    let before = try workspace.facts()
    try workspace.lose()
    try Descriptor.openFolder(root).rename("backup", to: Descriptor.openFolder(root), as: "library")
    refusal.isOn.store(false, ordering: .relaxed)
    try workspace.put("new", as: "new.txt")
    let refused = try workspace.run("run")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("pipeline restore-library"), "\(refused)")
    #expect(try workspace.files(below: "inbox") == ["new.txt"])
    try workspace.lose(as: "older")
    try workspace.json("restore-library")
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try Array(workspace.facts().prefix(before.count)) == before)
    try bench.expectSound()
  }

  private func copy(_ name: BytePath, as copy: BytePath) throws {
    try FileManager.default.copyItem(
      atPath: workspace.root.appending(name).description,
      toPath: workspace.root.appending(copy).description)
  }
}
