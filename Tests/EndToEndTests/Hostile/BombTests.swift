import Fixtures
import PipelineModel
import Testing

/// Files that become very large when they are decoded: refused by their headers, or stopped.
@Suite("Decompression bombs", .timeLimit(.minutes(10)))
struct BombTests {
  /// How much memory the program itself may have meanwhile, in KiB.
  private static let most = 128 << 10

  private static let harmless = 6

  /// Runs identify and thumbnails on all bombs, between pictures that are harmless.
  ///
  /// - Returns: what came of each bomb's thumbnail.
  private func run(
    limits: [String: JSONValue], identifies: Bool = true, exit: Int32
  ) throws -> [String: JSONValue] {
    var stages = try #require(
      Workspace.stages(thumbnails: [
        "limits": .object(limits), "timeout": "100s", "attempts": 1,
        "needs": identifies ? ["identify"] : [],
      ]).array)
    #if METADATA
      stages.append(["name": "tags", "plugin": "metadata", "needs": ["identify"]])
    #endif
    let workspace = try Workspace(stages: .array(stages))
    try workspace.put(Bomb.interlacedPNG, as: "b interlaced.png")
    try workspace.put(try Bomb.progressiveJPEG(), as: "d progressive.jpg")
    try workspace.put(Bomb.gif(frames: 10_000), as: "f frames.gif")
    try workspace.put(Bomb.profilePNG, as: "h profile.png")
    for number in 0..<Self.harmless {
      let name = BytePath("\(Array("acegij")[number]) harmless.jpg")
      try workspace.put(try Pictures.jpeg(width: 90 + number, height: 60), as: name)
    }
    var memory = MemoryMonitor()
    let outcome = try memory.wait(
      for: workspace.program.start(["run", "--json"]), within: 300)
    try #require(outcome.exitCode == exit, "\(outcome.output) \(outcome.errors)")
    #expect(memory.peak < Self.most, "\(memory.peak) KiB")
    let events = try outcome.events()
    workspace.expectCountersAddUp(events)
    try workspace.expectNobodyLeft()
    try workspace.expectSound()
    var jobs: [String: JSONValue] = [:]
    for job in events.of("job") where job["stage"] == "thumbnails" {
      let path = try #require(events.path(of: job))
      jobs[path] = job
    }
    let others = jobs.filter { $0.key.hasSuffix("harmless.jpg") }
    #expect(others.count == Self.harmless && others.values.allSatisfy { $0["outcome"] == "done" })
    return jobs
  }

  private func expect(
    _ job: JSONValue?, failsWith words: String, at location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      job?["outcome"] == "failed" && job?["class"] == "permanent", "\(job ?? .null)",
      sourceLocation: location)
    #expect(
      job?["reason"]?.string?.contains(words) == true, "\(job ?? .null)",
      sourceLocation: location)
  }

  @Test("A bomb is refused by its header where it would need more memory than its stage has")
  func memory() throws {
    let jobs = try run(limits: ["memory": "160MiB"], exit: 3)
    for name in ["b interlaced.png", "d progressive.jpg"] {
      expect(jobs[name], failsWith: "needs about")
    }
    // One frame is decoded, and a profile that is none is left out.
    #expect(jobs["f frames.gif"]?["outcome"] == "done")
    #expect(jobs["h profile.png"]?["outcome"] == "done")
  }

  @Test("A bomb is refused by its header where it has more pixels or frames than allowed")
  func pixels() throws {
    let jobs = try run(limits: ["pixels": 20_000_000, "frames": 1000], exit: 3)
    for name in ["b interlaced.png", "d progressive.jpg"] {
      expect(jobs[name], failsWith: "8000 x 8000 pixels")
    }
    // Decoders stop counting somewhere; libnsgif at 4,097.
    expect(jobs["f frames.gif"], failsWith: "frames, more than the stage's limit of 1000")
    #expect(jobs["h profile.png"]?["outcome"] == "done")
  }

  @Test("A bomb whose header nobody has read is stopped by the cap of memory")
  func cap() throws {
    let jobs = try run(limits: ["memory": "128MiB"], identifies: false, exit: 3)
    for name in ["b interlaced.png", "d progressive.jpg"] {
      expect(jobs[name], failsWith: "of memory")
    }
  }

  @Test(
    "A picture whose decoder asks for more memory than its stage has fails for good",
    arguments: ["identify", "thumbnail"])
  func refused(plugin: String) throws {
    let stage: JSONValue = [
      "name": "limited", "plugin": .string(plugin), "needs": [], "limits": ["memory": "160MiB"],
    ]
    let workspace = try Workspace(stages: [stage])
    try workspace.put(Bomb.webP, as: "canvas.webp")
    let events = try workspace.json("run", exit: 3)
    expect(
      events.of("job").first { $0["stage"] == "limited" },
      failsWith: "For more, set limits.memory of its stage.")
    #expect(try workspace.json("failed").count == 1)
  }

  @Test("Without limits a bomb is decoded in a worker, and the program stays small")
  func unlimited() throws {
    let jobs = try run(limits: [:], exit: 0)
    #expect(jobs.values.allSatisfy { $0["outcome"] == "done" }, "\(jobs)")
  }
}

extension [JSONValue] {
  /// The name of the file that a job is about.
  fileprivate func path(of job: JSONValue) -> String? {
    let file = of("file").first { $0["asset"] == job["asset"] }
    return file?["path"]?.string?.split(separator: "/").last.map(String.init)
  }
}
