import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Synchronization
import Testing

/// The copies of the manifest in a bucket, and `restore-library`.
@Suite(
  "Copies of the manifest",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(5)))
struct ManifestCopyTests {
  private static let identify: JSONValue = [
    ["name": "identify", "plugin": "identify", "isolation": "none"]
  ]
  private static let first = "0001.jsonl"

  private let bucket: TestBucket
  private let workspace: Workspace

  init() throws {
    bucket = try TestBucket()
    workspace = try Workspace(stages: Self.identify, bucket: bucket)
  }

  private func put(_ numbers: Range<Int>, into workspace: Workspace) throws {
    for number in numbers { try workspace.put("text \(number)", as: BytePath("\(number).txt")) }
  }

  private func own(_ workspace: Workspace, _ name: String = Self.first) throws -> [UInt8] {
    try workspace.read(BytePath("library/manifest/\(name)"))
  }

  @Test("Each run copies what it recorded, and a lost library is made again with the same assets")
  func restored() throws {
    try put(0..<3, into: workspace)
    try workspace.json("run")
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
    try put(3..<5, into: workspace)
    try workspace.json("run")
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    try workspace.json("tag", id, "+holiday")
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
    let before = try workspace.facts()
    try workspace.lose()
    let restored = try workspace.json("restore-library").of("restored").first
    #expect(restored?["segments"] == 1 && restored?["facts"]?.integer ?? 0 > 5)
    #expect(try own(workspace) == bucket.manifest()[Self.first])
    #expect(try workspace.run("run").exitCode == 1)
    try workspace.json("rebuild-catalog")
    #expect(try workspace.facts() == before)
    #expect(
      try workspace.json("list", "tag:holiday").map { $0["id"]?.string } == [id.description])
    try workspace.json("run")
    try workspace.expectSound()
    // And it goes on.
    try put(5..<6, into: workspace)
    try workspace.json("run")
    #expect(try workspace.assets().count == 6)
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
    // A library that is there stays.
    let refused = try workspace.run("restore-library")
    #expect(
      refused.exitCode != 0 && refused.errors.contains("is this library already"), "\(refused)")
  }

  @Test("Nothing is restored in the place of another library")
  func occupied() throws {
    try put(0..<1, into: workspace)
    try workspace.json("run")
    try workspace.lose()
    try workspace.configure(
      stages: Self.identify, ["originals": .string("\(bucket.location)-other")])
    try put(1..<2, into: workspace)
    try workspace.json("run")
    let other = try own(workspace)
    try workspace.configure(stages: Self.identify)
    let refused = try workspace.run("restore-library")
    #expect(refused.exitCode == 1 && refused.errors.contains("and the bucket's is"), "\(refused)")
    #expect(try own(workspace) == other && workspace.exists("lost"))
  }

  @Test("A watch copies while it runs")
  func watched() throws {
    let watch = try workspace.program.start(["watch", "--json"])
    try put(0..<1, into: workspace)
    try watch.wait(for: "the copy", within: 120) {
      try bucket.manifest()[Self.first]?.isEmpty == false
        && bucket.manifest() == [Self.first: own(workspace)]
    }
    // And at its end.
    try put(1..<2, into: workspace)
    try watch.wait(for: "the import") { try workspace.assets().count == 2 }
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 30).exitCode == 143)
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
    try workspace.expectSound()
  }

  @Test(
    "An older manifest never takes the place of a copy that has more, and nothing is recorded with it"
  )
  func older() throws {
    try put(0..<2, into: workspace)
    try workspace.json("run")
    try FileManager.default.copyItem(
      atPath: workspace.library.description, toPath: workspace.root.appending("backup").description)
    try put(2..<4, into: workspace)
    try workspace.json("run")
    let copies = try bucket.manifest()
    // As a backup is put back, with manifest and catalog of before.
    try workspace.lose()
    try restore("backup")
    try put(8..<9, into: workspace)
    for words: [BytePath] in [
      ["run"], ["rebuild-catalog"], ["watch"], ["tag", "name:0.txt", "+x"],
    ] {
      let refused = try workspace.program.run(words)
      #expect(
        refused.exitCode == 1 && refused.errors.contains("pipeline restore-library"),
        "\(words) \(refused)")
    }
    #expect(try bucket.manifest() == copies && workspace.files(below: "inbox") == ["8.txt"])
    #expect(try workspace.assets().count == 2)
    // What the bucket has is the library.
    try workspace.lose(as: "older")
    try workspace.json("restore-library")
    try workspace.json("rebuild-catalog")
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try workspace.assets().count == 5)
    try workspace.expectSound()
    // Or the older one is, if somebody says so.
    try workspace.lose(as: "newer")
    try restore("older")
    for name in try bucket.manifest().keys { try bucket.remove("manifest/\(name)") }
    try put(9..<10, into: workspace)
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
  }

  @Test("A machine whose place another one has taken imports nothing, also with its own catalog")
  func replaced() throws {
    try put(0..<2, into: workspace)
    try workspace.json("run")
    try workspace.lose(as: "first")
    try workspace.json("restore-library")
    try workspace.json("rebuild-catalog")
    try put(2..<3, into: workspace)
    try workspace.json("run")
    let copies = try bucket.manifest()
    try workspace.lose(as: "second")
    try restore("first")
    let before = try own(workspace)
    try put(8..<9, into: workspace)
    let refused = try workspace.run("run")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("another machine"), "\(refused)")
    #expect(try workspace.files(below: "inbox") == ["8.txt"] && own(workspace) == before)
    #expect(try bucket.manifest() == copies)
  }

  /// Puts a folder into the library's place.
  private func restore(_ name: BytePath) throws {
    let root = try Descriptor.openFolder(workspace.root)
    try root.rename(name, to: root, as: "library")
  }

  @Test("An older manifest is noticed also where it has grown beyond the copy")
  func grown() throws {
    try put(0..<2, into: workspace)
    try workspace.json("run")
    try FileManager.default.copyItem(
      atPath: workspace.library.description, toPath: workspace.root.appending("backup").description)
    try put(2..<3, into: workspace)
    try workspace.json("run")
    let copies = try bucket.manifest()
    try workspace.lose()
    try restore("backup")
    // With the store away, nothing can be compared, or imported; tags are recorded.
    var away = workspace.program
    away.environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1"
    away.environment["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:1"
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    let tagged = try away.run(["tag", id] + (0..<20).map { BytePath("+tag \($0)") })
    #expect(tagged.exitCode == 0, "\(tagged)")
    #expect(try own(workspace).count > copies[Self.first]?.count ?? .max)
    let refused = try workspace.run("run")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("pipeline restore-library"), "\(refused)")
    #expect(try bucket.manifest() == copies)
  }

  @Test("Where the copy can't be stored, imports go on, it is said once, and made up for later")
  func refused() throws {
    let isRefused = Atomic(true)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      isRefused.load(ordering: .relaxed) && request.target.contains("manifest/")
        ? .status(403) : .none
    }
    defer { proxy.end() }
    let bucket = try TestBucket(through: proxy.endpoint)
    let workspace = try Workspace(stages: Self.identify, bucket: bucket)
    try put(0..<2, into: workspace)
    let run = try workspace.run("run")
    #expect(run.exitCode == 0 && run.errors.contains("manifest can't be copied"), "\(run)")
    #expect(try workspace.assets().count == 2)
    isRefused.store(false, ordering: .relaxed)
    #expect(try workspace.run("run").errors == "")
    #expect(try bucket.manifest() == [Self.first: own(workspace)])
    // Nothing is asked of the store for a manifest that has not changed.
    let requests = proxy.requests
    try workspace.json("run")
    #expect(proxy.requests == requests)
  }

  @Test("Damaged, missing and foreign copies make no library, and leave nothing behind")
  func damaged() throws {
    try put(0..<3, into: workspace)
    try workspace.json("run")
    try workspace.lose()
    let whole = try #require(try bucket.manifest()[Self.first])
    var bytes = whole
    bytes[40] ^= 1
    try bucket.writeManifest(bytes, as: Self.first)
    let damaged = try workspace.run("restore-library")
    #expect(damaged.exitCode == 1 && damaged.errors.contains("put whole ones"), "\(damaged)")
    #expect(!workspace.exists("library"))
    #expect(!workspace.exists(".library.restored"))
    try bucket.removeMarker()
    let unnamed = try workspace.run("restore-library")
    #expect(unnamed.exitCode == 1 && unnamed.errors.contains("has no library.json"), "\(unnamed)")
  }

  @Test(
    "With its catalog in PostgreSQL another machine goes on from the copy; what is missing there is found",
    .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
  func takenOver() throws {
    let shared = try SharedWorkspace(stages: Self.identify, bucket: bucket)
    let workspace = shared.workspace
    try put(0..<3, into: workspace)
    try workspace.json("run")
    let before = try workspace.facts()
    let copies = try bucket.manifest()
    try workspace.lose()
    try workspace.json("restore-library")
    try put(3..<4, into: workspace)
    #expect(try workspace.json("run").summary["imported"] == 1)
    #expect(try Array(workspace.facts().prefix(3)) == before)
    try workspace.expectSoundLibrary()
    // The machine was lost before its last facts were copied, and an older version has left nothing of them in the
    // database.
    for (name, bytes) in copies { try bucket.writeManifest(bytes, as: name) }
    try shared.database.execute("DELETE FROM pipeline.manifest_tail")
    try workspace.lose(as: "lost again")
    try workspace.json("restore-library")
    let behind = try workspace.run("run")
    #expect(behind.exitCode == 1 && behind.errors.contains("rebuild-catalog"), "\(behind)")
    try workspace.json("rebuild-catalog")
    #expect(try workspace.facts() == before)
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(found.map { $0["kind"] } == ["original-unrecorded"])
    try workspace.json("verify", "--repair")
    #expect(try workspace.assets().count == 4)
    try workspace.json("run")
    try workspace.expectSoundLibrary()
    // Should the lost machine come back, it neither records anything nor takes the catalog.
    let recorded = try workspace.facts()
    try workspace.lose(as: "next")
    let root = try Descriptor.openFolder(workspace.root)
    try root.rename("lost again", to: root, as: "library")
    for verb: BytePath in ["run", "rebuild-catalog"] {
      let refused = try workspace.run(verb)
      #expect(refused.exitCode == 1 && refused.errors.contains("another machine"), "\(refused)")
    }
    try workspace.lose(as: "lost again")
    try root.rename("next", to: root, as: "library")
    #expect(try workspace.facts() == recorded)
    #expect(try workspace.json("run").summary["imported"] == 0)
    // While one works with the library's folder, that is not lost.
    let watch = try workspace.program.start(["watch", "--json"])
    try watch.wait(for: "its place") {
      try shared.count("participant WHERE taker AND state = 'active'") == 1
    }
    try shared.configure("other.json", library: "other", stages: Self.identify)
    let refused = try workspace.run("restore-library", "--config", "other.json")
    #expect(refused.exitCode == 11 && refused.errors.contains("not lost"), "\(refused)")
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 30).exitCode == 143)
  }
}
