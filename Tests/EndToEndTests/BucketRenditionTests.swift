import Files
import Fixtures
import Glibc
import Hashing
import ObjectStorage
import PipelineModel
import PostgreSQL
import Synchronization
import Testing
import Vips

/// `"renditions": "s3://…"`.
@Suite(
  "Renditions in a bucket, as users meet them",
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(5)))
struct BucketRenditionTests {
  /// A library with files in its folder, and a place for its renditions.
  private final class Bench {
    let workspace: Workspace
    let place: String
    let client: S3Client

    init(
      _ members: [String: JSONValue] = [:], through endpoint: String? = nil,
      storage: String = "file"
    ) throws {
      let server = try ObjectServer.shared.get()
      place = server.place()
      client = try server.client(place)
      workspace = try Workspace()
      workspace.program.environment.merge(server.environment(through: endpoint)) { $1 }
      try configure(members, storage: storage)
    }

    var location: String { "s3://\(place)" }

    /// - Parameter renditions: the place of renditions; by default the bench's.
    func configure(
      _ members: [String: JSONValue] = [:], storage: String = "file", renditions: String? = nil
    ) throws {
      var all: [String: JSONValue] = ["renditions": .string(renditions ?? location)]
      if renditions == "" { all["renditions"] = nil }
      try workspace.configure(
        stages: Workspace.stages(thumbnails: ["storage": .string(storage)]),
        all.merging(members) { $1 })
    }

    func put(_ numbers: Range<Int>) throws {
      for number in numbers {
        try workspace.put(
          try Pictures.jpeg(width: 200 + number, height: 150), as: BytePath("\(number).jpg"))
      }
    }

    func objects() throws -> [String] {
      var keys: [String] = []
      try client.list("renditions/") { entry throws(FileError) in keys.append(entry.key) }
      return keys
    }

    func write(_ text: String, as key: String) throws {
      let bytes = Array(text.utf8)
      _ = try client.put(.bytes(bytes), as: key, digest: SHA256.digest(of: bytes), isNew: false)
    }

    /// Writes what a job leaves behind that is killed before its record: another rendition of a picture.
    ///
    /// - Returns: its key.
    func leaveStray(beside object: String) throws -> String {
      let key = object.replacing(".grid.", with: ".large.").replacing(
        ".preview.", with: ".large.")
      try write("left by a kill", as: key)
      return key
    }

    /// Asserts that the bucket has all renditions, each with a row, and that nothing else has any.
    func expectWhole(_ count: Int, at location: SourceLocation = #_sourceLocation) throws {
      #expect(try objects().count == count, sourceLocation: location)
      #expect(try files().isEmpty, sourceLocation: location)
      try expectSound(count, at: location)
    }

    func files() throws -> [BytePath] { try workspace.files(below: "library/renditions") }

    func expectSound(_ count: Int, at location: SourceLocation = #_sourceLocation) throws {
      let status = try workspace.json("status").of("status").first
      #expect(status?["renditions"]?.integer == count, sourceLocation: location)
      let verified = try workspace.json("verify")
      #expect(verified.summary["problems"] == 0, "\(verified)", sourceLocation: location)
      let garbage = try workspace.program.run(["gc", "--dry-run", "--json"]).event("garbage")
      #expect(garbage["files"] == 0 && garbage["renditions"] == 0, sourceLocation: location)
    }
  }

  @Test("Changing the place takes all renditions there, and back, without making any again")
  func moved() throws {
    let bench = try Bench()
    let workspace = bench.workspace
    try bench.configure(renditions: "")
    try bench.put(0..<3)
    try workspace.json("run")
    #expect(try bench.files().count == 6)
    try bench.configure()
    let run = try workspace.json("run")
    #expect(run.summary["jobsDone"] == 0)
    try bench.expectWhole(6)
    let id = BytePath(try #require(try workspace.asset(named: "1.jpg")["id"]?.string))
    try workspace.removeCache()
    // From the bucket, and then from its copy.
    for _ in 0..<2 {
      let got = try workspace.run("get", id, "--rendition", "preview", "-o", "got.jpg")
      #expect(got.exitCode == 0, "\(got.errors)")
      #expect(try workspace.read("got.jpg").starts(with: [0xFF, 0xD8]))
      try Descriptor.openFolder(workspace.root).remove("got.jpg")
    }
    // To another prefix, by what the catalog notes of the former one.
    let other = bench.location + "-other"
    try bench.configure(renditions: other)
    #expect(try workspace.json("run").summary["jobsDone"] == 0)
    #expect(try bench.objects().isEmpty && bench.files().isEmpty)
    try bench.expectSound(6)
    // Into the database, and out of it.
    try bench.configure(storage: "database", renditions: other)
    #expect(try workspace.json("run").summary["jobsDone"] == 0)
    try bench.expectSound(6)
    try bench.configure()
    #expect(try workspace.json("run").summary["jobsDone"] == 0)
    try bench.expectWhole(6)
    try bench.configure(renditions: "")
    #expect(try workspace.json("run").summary["jobsDone"] == 0)
    #expect(try bench.objects().isEmpty && bench.files().count == 6)
    try bench.expectSound(6)
  }

  @Test("What is missing, damaged or without a record is found, made again and removed")
  func maintained() throws {
    let bench = try Bench()
    let workspace = bench.workspace
    try bench.put(0..<3)
    try workspace.json("run")
    try bench.expectWhole(6)
    let objects = try bench.objects()
    try bench.client.remove(objects[0])
    try bench.write("damaged", as: objects[1])
    let stray = try bench.leaveStray(beside: objects[2])
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(
      found.compactMap { $0["kind"]?.string }.sorted() == [
        "rendition-damaged", "rendition-missing", "rendition-unrecorded",
      ])
    let paths = Set(found.compactMap { $0["path"]?.string })
    #expect(paths == Set([objects[0], objects[1], stray].map { "\(bench.location)/\($0)" }))
    try workspace.json("verify", "--repair")
    try workspace.json("run")
    try bench.expectWhole(6)
    _ = try bench.leaveStray(beside: objects[2])
    let garbage = try workspace.json("gc", "--yes").of("garbage").first
    #expect(garbage?["files"] == 1)
    try bench.expectWhole(6)
    // What a deleted asset had goes with it.
    let id = BytePath(try #require(try workspace.asset(named: "1.jpg")["id"]?.string))
    try workspace.json("rm", id)
    try workspace.json("trash", "empty", "--yes")
    try bench.expectWhole(4)
    // Other sizes: what stays is copied inside the bucket.
    try workspace.configure(
      stages: Workspace.stages(sizes: ["grid": 64, "large": 150], thumbnails: ["storage": "file"]),
      ["renditions": .string(bench.location)])
    try workspace.json("run")
    try bench.expectWhole(4)
  }

  @Test("Of the two places, each gets what suits it, and a browser gets both")
  func served() throws {
    let bench = try Bench(storage: "auto")
    let workspace = bench.workspace
    try workspace.configure(
      stages: Workspace.stages(sizes: ["grid": 64, "preview": 1600]),
      ["renditions": .string(bench.location)])
    // Grain makes the large one too large for the database.
    let grainy = try Picture.pixels(
      Pictures.pixels(width: 1200, height: 900, grain: 100), width: 1200, height: 900, bands: 3)
    try workspace.put(try Pictures.file(grainy, ".jpg[Q=90]"), as: "large.jpg")
    try workspace.json("run")
    #expect(try bench.objects().count == 1)
    try workspace.removeCache()
    let asset = try workspace.asset(named: "large.jpg")
    let storage = (asset["renditions"]?.array ?? []).compactMap { $0["storage"]?.string }
    #expect(Set(storage) == ["database", "file"])
    let urls = try workspace.query(
      "SELECT 'r/' || lower(hex(digest)) || '/' || id || '/' || name FROM rendition ORDER BY bytes")
    #expect(urls.count == 2)
    let served = try ServedLibrary(workspace)
    for _ in 0..<2 {
      for url in urls {
        let answer = try served.get("/\(url)")
        #expect(answer.status == 200 && answer.body.starts(with: [0xFF, 0xD8]))
      }
    }
    try bench.client.remove(bench.objects()[0])
    try workspace.removeCache()
    #expect(try urls.map { try served.get("/\($0)").status } == [200, 404])
    try served.stop()
  }

  @Test(
    "While the bucket is away, jobs wait, nothing is taken for missing, and all goes on after that")
  func away() throws {
    let isAway = Atomic(false)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { _ in
      isAway.load(ordering: .relaxed) ? .status(503) : .none
    }
    defer { proxy.end() }
    let bench = try Bench(through: proxy.endpoint)
    let workspace = bench.workspace
    try bench.put(0..<2)
    try workspace.json("run")
    isAway.store(true, ordering: .relaxed)
    try bench.put(2..<4)
    let run = try workspace.json("run", exit: 3)
    // What needs no bucket is done.
    #expect(run.summary["imported"] == 2 && run.summary["jobsDone"] == 2)
    #expect(run.of("stage").map { $0["stage"] } == ["thumbnails"], "\(run)")
    for failure in try workspace.json("failed").of("failure") {
      #expect(failure["class"] == "environment" && failure["attempts"] == 0)
    }
    let repaired = try workspace.run("verify", "--repair", "--json")
    #expect(repaired.exitCode == 1, "\(repaired)")
    let id = BytePath(try #require(try workspace.asset(named: "1.jpg")["id"]?.string))
    try workspace.removeCache()
    let got = try workspace.run("get", id, "--rendition", "preview", "-o", "got.jpg")
    #expect(got.exitCode == 1 && !workspace.exists("got.jpg"), "\(got)")
    isAway.store(false, ordering: .relaxed)
    // Those that were there are the same as before.
    #expect(try workspace.json("run").summary["jobsDone"] == 2)
    try bench.expectWhole(8)
  }

  @Test("A signal while renditions are moved, or stored, is no fault of theirs: none is made again")
  func stopped() throws {
    let isSlow = Atomic(false)
    let requests = Atomic(0)
    let server = try ObjectServer.shared.get()
    let proxy = try FaultProxy(to: server.port) { request in
      guard isSlow.load(ordering: .relaxed), request.target.contains("/renditions/thumbnails/")
      else { return .none }
      requests.add(1, ordering: .relaxed)
      return .late(by: 2)
    }
    defer { proxy.end() }
    let bench = try Bench(through: proxy.endpoint)
    let workspace = bench.workspace
    /// Starts a run, and ends it while it waits for the store.
    func stop() throws {
      isSlow.store(true, ordering: .relaxed)
      requests.store(0, ordering: .relaxed)
      let run = try workspace.program.start(["run", "--json"])
      try run.wait(for: "a request") { requests.load(ordering: .relaxed) > 0 }
      run.signal(SIGTERM)
      #expect(try run.wait(within: 30).exitCode == 143)
      isSlow.store(false, ordering: .relaxed)
    }
    try bench.configure(renditions: "")
    try bench.put(0..<6)
    try workspace.json("run")
    // Into the bucket, and out of it.
    for place in [nil, ""] {
      try bench.configure(renditions: place)
      try workspace.removeCache()
      try stop()
      #expect(try workspace.json("run").summary["jobsDone"] == 0)
      try bench.expectSound(12)
    }
    // What new jobs have made.
    try bench.configure()
    try workspace.json("run")
    try bench.put(6..<8)
    try stop()
    #expect(try workspace.query("SELECT count(*) FROM attempt WHERE outcome = 'failed'") == ["0"])
    try workspace.json("run")
    try bench.expectWhole(16)
  }

  @Test("What stays in a former place is found and removed, and the place then forgotten")
  func former() throws {
    let bench = try Bench()
    let workspace = bench.workspace
    try bench.put(0..<3)
    try workspace.json("run")
    let objects = try bench.objects()
    // One is lost, and one has no record.
    try bench.client.remove(objects[0])
    let stray = try bench.leaveStray(beside: objects[1])
    try bench.write("somebody's", as: "renditions/README.txt")
    let other = bench.location + "-other"
    try bench.configure(renditions: other)
    try workspace.removeCache()
    // What is lost is made again, and the others are moved all the same.
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
    #expect(try bench.objects().sorted() == ["renditions/README.txt", stray].sorted())
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(found.map { $0["kind"] } == ["rendition-unrecorded"])
    let noted = "SELECT value FROM setting WHERE key = 'user.renditions.places'"
    #expect(try workspace.query(noted)[0].split(separator: " ").count == 2)
    #expect(try workspace.json("gc", "--yes").of("garbage").first?["files"] == 1)
    #expect(try bench.objects() == ["renditions/README.txt"])
    #expect(try workspace.json("verify").summary["problems"] == 0)
    try bench.client.remove("renditions/README.txt")
    try workspace.json("gc", "--yes")
    #expect(try workspace.query(noted) == [other])
    try bench.expectSound(6)
    // A place that never was one is no problem.
    try bench.configure(renditions: "s3://no-such-bucket/x")
    #expect(try workspace.run("run").exitCode == 0)
    try bench.configure(renditions: other)
    try workspace.json("run")
    try bench.expectSound(6)
  }

  @Test("An emptied place is not taken again as if nothing had been there")
  func emptied() throws {
    let bench = try Bench()
    let workspace = bench.workspace
    try bench.put(0..<2)
    try workspace.json("run")
    for object in try bench.objects() + ["library.json"] { try bench.client.remove(object) }
    try bench.put(2..<3)
    let run = try workspace.run("run")
    #expect(run.exitCode == 3 && run.errors.contains("has no library.json"), "\(run)")
    #expect(try bench.objects().isEmpty)
  }

  @Test("Another library's bucket is refused by run and doctor, and its renditions stay")
  func foreign() throws {
    let bench = try Bench()
    try bench.put(0..<1)
    try bench.workspace.json("run")
    let other = try Bench()
    try other.configure(renditions: bench.location)
    try other.put(5..<6)
    let refused = try other.workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("of the library"), "\(refused)")
    try other.configure()
    try other.workspace.json("run")
    try other.configure(renditions: bench.location)
    try other.put(6..<7)
    let run = try other.workspace.run("run")
    #expect(run.exitCode == 3 && run.errors.contains("another library"), "\(run)")
    let findings = try other.workspace.run("doctor").output
    #expect(findings.contains("has the renditions of another library"), "\(findings)")
    _ = try other.workspace.run("gc", "--yes")
    try bench.expectWhole(2)
    let doctor = try bench.workspace.run("doctor")
    #expect(doctor.output.contains("renditions") && doctor.exitCode == 0, "\(doctor)")
  }

  @Test(
    "Another machine makes files for the bucket, and none where it has another place",
    .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
  func worked() throws {
    let bucket = try TestBucket()
    let renditions = bucket.location + "-made"
    let stages = Workspace.stages(thumbnails: ["storage": "file"])
    let shared = try SharedWorkspace(stages: stages, bucket: bucket)
    let workspace = shared.workspace
    let members: [String: JSONValue] = [
      "catalog": .string(shared.address.uri), "renditions": .string(renditions),
    ]
    try workspace.configure(stages: stages, members)
    try workspace.json("run")
    for number in 0..<3 {
      try workspace.put(
        try Pictures.jpeg(width: 200 + number, height: 150), as: BytePath("\(number).jpg"))
    }
    try shared.configure(
      "second.json", library: "second", stages: stages, ["renditions": .string(renditions)])
    try shared.configure("third.json", library: "third", stages: stages)
    let second = try shared.startWork("second.json")
    try second.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    let held = try workspace.run("work", "--until-idle", "--config", "third.json")
    #expect(held.exitCode == 3 && held.errors.contains("correct \"renditions\""), "\(held)")
    let watch = try workspace.program.start(["watch", "--json"])
    try watch.wait(for: "all renditions", within: 120) { try shared.count("rendition") == 6 }
    for run in [second, watch] {
      run.signal(SIGTERM)
      #expect(try run.wait(within: 30).exitCode == 143)
    }
    // The attempt is a part of the name, as others may be at the same job.
    let named =
      "rendition WHERE path ~ '^\(renditions)/renditions/thumbnails/../[0-9a-f.]+(grid|preview).[0-9]+.jpg$'"
    #expect(try shared.count(named) == 6)
    try shared.expectDone(jobs: 6)
  }
}
