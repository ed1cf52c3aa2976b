import Fixtures
import PipelineModel
import Testing

/// What is done again, what is not, and where renditions lie.
@Suite("Ledger", .timeLimit(.minutes(10)))
struct LedgerTests {
  private func makeWorkspace(_ stages: JSONValue = Workspace.stages()) throws -> Workspace {
    let workspace = try Workspace(stages: stages)
    for index in 0..<3 {
      let picture = try Pictures.jpeg(width: 150 + index, height: 100)
      try workspace.put(picture, as: BytePath("\(index).jpg"))
    }
    return workspace
  }

  /// How many jobs of each stage a run did.
  private func jobs(_ events: [JSONValue]) -> [String: Int] {
    Dictionary(
      events.of("job").compactMap { $0["stage"]?.string.map { ($0, 1) } }, uniquingKeysWith: +)
  }

  @Test("A second run does nothing, whatever does not change results")
  func nothingChanged() throws {
    let workspace = try makeWorkspace()
    #expect(jobs(try workspace.json("run")) == ["identify": 3, "thumbnails": 3])
    #expect(try workspace.json("run").count == 1)
    try workspace.configure(
      stages: Workspace.stages(
        options: ["quality": 80, "format": "jpeg"],
        thumbnails: ["concurrency": 1, "timeout": "50s", "memory": "2GiB", "attempts": 5]),
      ["memoryBudget": "3GiB"])
    let summary = try workspace.json("run").summary
    #expect(summary["jobsDone"] == 0 && summary["imported"] == 0)
    try workspace.expectSound()
  }

  @Test("One changed option redoes one stage")
  func changedOption() throws {
    let workspace = try makeWorkspace()
    try workspace.json("run")
    let before = try workspace.assets().map { $0["renditions"] }
    try workspace.configure(stages: Workspace.stages(options: ["quality": 55]))
    let events = try workspace.json("run")
    #expect(jobs(events) == ["thumbnails": 3] && events.summary["jobsDone"] == 3)
    let after = try workspace.assets().map { $0["renditions"] }
    for (old, new) in zip(before, after) {
      #expect(old?.array?.count == 2 && new?.array?.count == 2)
      #expect(old?.array?.first?["digest"] != new?.array?.first?["digest"])
    }
    #expect(try workspace.json("run").of("job") == [])
    try workspace.expectSound()
  }

  @Test("A stage that needs another is redone with it, and not the other way round")
  func needs() throws {
    func stages(first: Int, second: Int) -> JSONValue {
      func stage(_ name: String, needs: JSONValue, quality: Int) -> JSONValue {
        [
          "name": .string(name), "plugin": "thumbnail", "needs": needs,
          "options": [
            "sizes": [["name": "grid", "maxPixelSize": 40]], "quality": .integer(quality),
          ],
        ]
      }
      return [
        ["name": "identify", "plugin": "identify"],
        stage("second", needs: ["first"], quality: second),
        stage("first", needs: ["identify"], quality: first),
      ]
    }
    let workspace = try makeWorkspace(stages(first: 70, second: 70))
    let events = try workspace.json("run")
    #expect(jobs(events) == ["identify": 3, "first": 3, "second": 3])
    let order = events.of("job").compactMap { job in
      job["asset"] == events.of("job").first?["asset"] ? job["stage"]?.string : nil
    }
    #expect(order == ["identify", "first", "second"])
    try workspace.configure(stages: stages(first: 70, second: 60))
    #expect(jobs(try workspace.json("run")) == ["second": 3])
    try workspace.configure(stages: stages(first: 60, second: 60))
    #expect(jobs(try workspace.json("run")) == ["first": 3, "second": 3])
    try workspace.expectSound()
  }

  @Test("Until a rendition is made anew the old one is served, marked stale")
  func stale() throws {
    let workspace = try makeWorkspace()
    try workspace.json("run")
    let old = try workspace.asset(named: "0.jpg")
    try workspace.configure(stages: Workspace.stages(sizes: ["grid": 32]))
    // Any verb that works on the library takes notice of the configuration.
    try workspace.json("retry", "--all")
    let between = try workspace.asset(named: "0.jpg")
    let renditions = try #require(between["renditions"]?.array)
    #expect(renditions.count == 2 && renditions.allSatisfy { $0["stale"] == true })
    #expect(try workspace.rendition("grid", of: between).width == 64)
    #expect(try workspace.rendition("preview", of: between).width == 128)
    try workspace.json("run")
    let new = try workspace.asset(named: "0.jpg")
    #expect(old["id"] == new["id"])
    #expect(new["renditions"]?.array?.map { $0["stale"] } == [false])
    #expect(try workspace.rendition("grid", of: new).width == 32)
    try workspace.expectSound()
  }

  @Test("Changing the storage moves bytes and decodes nothing")
  func storage() throws {
    let workspace = try makeWorkspace(
      Workspace.stages(thumbnails: ["storage": "database"]))
    try workspace.json("run")
    let folder: BytePath = "library/renditions"
    #expect(try workspace.files(below: folder) == [])
    let digests = try workspace.assets().map { $0["renditions"]?.array?.map { $0["digest"] } }
    for (policy, storage, files) in [
      ("file", "file", 6), ("auto", "database", 0), ("file", "file", 6),
      ("database", "database", 0),
    ] {
      try workspace.configure(
        stages: Workspace.stages(thumbnails: ["storage": .string(policy)]))
      #expect(try workspace.json("run").of("job") == [])
      let assets = try workspace.assets()
      #expect(assets.map { $0["renditions"]?.array?.map { $0["digest"] } } == digests)
      for asset in assets {
        for rendition in asset["renditions"]?.array ?? [] {
          #expect(rendition["storage"]?.string == storage, "\(policy)")
        }
        #expect(try workspace.rendition("grid", of: asset).width == 64)
      }
      #expect(try workspace.files(below: folder).count == files, "\(policy)")
      try workspace.expectSound()
    }
  }

  @Test("A failed job is tried again when it is told to, and when the options change")
  func retry() throws {
    let workspace = try Workspace()
    let half = Pictures.truncated(try Pictures.jpeg(width: 300, height: 200))
    try workspace.put(half, as: "half.jpg")
    try workspace.json("run", exit: 3)
    #expect(try workspace.json("run").of("job") == [])
    let planned = try workspace.json("retry", "--all", "--dry-run").first
    #expect(planned?["jobs"] == 1 && planned?["dryRun"] == true)
    let told = try workspace.run("retry", "--all", "--dry-run").output
    #expect(told == "1 job would be ready again.\n", "\(told)")
    #expect(try workspace.json("failed").count == 1)
    #expect(try workspace.json("retry", "--all").first?["jobs"] == 1)
    #expect(try workspace.json("failed") == [])
    #expect(jobs(try workspace.json("run", exit: 3)) == ["thumbnails": 1])
    let id = try #require(try workspace.assets().first?["id"]?.string)
    #expect(try workspace.json("retry", BytePath(String(id.suffix(9)))).first?["jobs"] == 1)
    #expect(jobs(try workspace.json("run", exit: 3)) == ["thumbnails": 1])
    try workspace.configure(stages: Workspace.stages(options: ["quality": 60]))
    #expect(jobs(try workspace.json("run", exit: 3)) == ["thumbnails": 1])
    #expect(try workspace.json("run").of("job") == [])
    try workspace.expectSound()
  }
}
