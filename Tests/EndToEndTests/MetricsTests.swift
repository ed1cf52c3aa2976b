import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Metrics as the built program writes and serves them, and what is installed to make use of them.
@Suite("Metrics of a library", .timeLimit(.minutes(5)))
struct MetricsTests {
  private static let withTool = ConditionTrait.enabled(
    if: MetricSamples.hasTool, "promtool, of Debian's package prometheus, is not here.")

  /// One of each state: done, failed, skipped and trashed assets, ignored, rejected and duplicate paths.
  private static func made() throws -> Workspace {
    let workspace = try ServedLibrary.made()
    try workspace.put(try Pictures.jpeg(width: 90, height: 60), as: "gone.jpg")
    try workspace.put("again", as: "one.txt")
    try workspace.put("again", as: "two.txt")
    try workspace.put([UInt8](), as: "empty.jpg")
    try workspace.put("x", as: ".hidden")
    try workspace.json("run", exit: 3)
    let id = try #require(try workspace.asset(named: "gone.jpg")["id"]?.string)
    try workspace.json("rm", BytePath(id))
    return workspace
  }

  private func read(_ workspace: Workspace, _ name: BytePath) throws -> MetricSamples {
    try MetricSamples(String(decoding: workspace.read(name), as: UTF8.self))
  }

  private func expectSums(
    of metrics: MetricSamples, equal status: JSONValue, at place: SourceLocation = #_sourceLocation
  ) throws {
    func equal(_ one: Int?, _ other: JSONValue?, _ name: String) {
      #expect(
        one != nil && one == other?.integer, "\(name)\n\(metrics.text)", sourceLocation: place)
    }
    let trashed = try #require(metrics["pipeline_assets{state=\"trashed\"}"])
    equal(metrics.sum("pipeline_assets") - trashed, status["assets"], "assets")
    equal(metrics["pipeline_originals"], status["originals"], "originals")
    equal(metrics["pipeline_original_bytes"], status["originalBytes"], "bytes")
    equal(metrics["pipeline_renditions"], status["renditions"], "renditions")
    equal(metrics["pipeline_rendition_bytes"], status["renditionBytes"], "rendition bytes")
    equal(metrics.sum("pipeline_job_failures"), status["failures"], "failures")
    for (state, count) in try #require(status["paths"]?.object) {
      equal(metrics["pipeline_paths{state=\"\(state)\"}"], count, state)
    }
    for (state, count) in try #require(status["pathsOnDisk"]?.object) {
      equal(metrics.sum("pipeline_paths_on_disk", "state=\"\(state)\""), count, "\(state) on disk")
    }
    let stages = try #require(status["jobs"]?.object)
    #expect(stages.count == 2, sourceLocation: place)
    for (stage, states) in stages {
      for (state, count) in try #require(states.object) {
        let key = "pipeline_jobs{stage=\"\(stage)\",state=\"\(state)\"}"
        equal(metrics[key], count, key)
      }
    }
    for outcome in ["imported", "ignored", "rejected", "failed"] {
      equal(
        metrics["pipeline_last_run_files{outcome=\"\(outcome)\"}"], status["lastRun"]?[outcome],
        outcome)
    }
    equal(
      metrics["pipeline_last_run_jobs{outcome=\"done\"}"], status["lastRun"]?["jobsDone"], "done")
  }

  @Test("Their sums are what `status` counts, in a file and as served")
  func sums() throws {
    let workspace = try Self.made()
    try workspace.run("run", "--metrics", "m.prom").expectExit(0)
    let status = try #require(try workspace.json("status").first)
    let file = try read(workspace, "m.prom")
    try expectSums(of: file, equal: status)
    #expect(file["pipeline_assets{state=\"trashed\"}"] == 1)
    #expect(file["pipeline_assets{state=\"failed\"}"] == 1)
    #expect(file.sum("pipeline_paths", "rejected") == 1)
    #expect(file["pipeline_last_run_success"] == 1 && file["pipeline_library_held"] == 0)
    #expect(try #require(file["pipeline_job_attempts_total"]) > 6)
    let served = try ServedLibrary(workspace)
    let answer = try served.get("/metrics")
    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    let metrics = try MetricSamples(answer.text)
    try expectSums(of: metrics, equal: status)
    for (key, value) in file.values where !key.hasPrefix("pipeline_library_free_bytes") {
      #expect(metrics.values[key] == value, "\(key)")
    }
    #expect(metrics.values["pipeline_counts_age_seconds"] == 0)
    // What was counted is not shown any longer than it is true.
    try workspace.put(try Pictures.jpeg(width: 91, height: 60), as: "new.jpg")
    try workspace.run("run").expectExit(0)
    var later = try MetricSamples(served.get("/metrics").text)
    // What takes longer to count, on a server or a busy machine, is shown somewhat beyond, with its age.
    let end = ContinuousClock.now + .seconds(30)
    while later.values["pipeline_counts_age_seconds"] != 0 {
      try #require(ContinuousClock.now < end, "\(later.text)")
      usleep(20_000)
      later = try MetricSamples(served.get("/metrics").text)
    }
    try expectSums(of: later, equal: try #require(try workspace.json("status").first))
    #expect(later["pipeline_originals"] == 1 + (metrics["pipeline_originals"] ?? 0))
    try served.stop()
  }

  @Test("promtool has nothing to say against them", withTool)
  func checked() throws {
    let workspace = try Self.made()
    try workspace.run("run", "--metrics", "m.prom").expectExit(0)
    try workspace.run("verify", "--metrics", "v.prom").expectExit(0)
    let served = try ServedLibrary(workspace)
    for target in ["/", "/nothing", "/api/v1/grid", "/metrics"] { _ = try served.get(target) }
    let texts = try [
      read(workspace, "m.prom").text, read(workspace, "v.prom").text, served.get("/metrics").text,
    ]
    for text in texts {
      #expect(!text.isEmpty)
      #expect(try MetricSamples.complaints(["check", "metrics"], input: text) == "")
    }
    // It would have something to say.
    #expect(try MetricSamples.complaints(["check", "metrics"], input: "a_total 1\n") != "")
    // The files can be in one folder: the collector refuses names that are in two.
    let names = texts.prefix(2).map { text in
      Set(text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") })
    }
    #expect(names[0].isDisjoint(with: names[1]))
    try served.stop()
  }

  @Test("No name, asset or reason is in them")
  func anonymous() throws {
    let workspace = try Self.made()
    let served = try ServedLibrary(workspace)
    let id = try served.id("a.jpg")
    for target in ["/a/\(id)", "/o/\(id)", "/secret-name", "/?q=name:secret-name"] {
      _ = try served.get(target)
    }
    let text = try served.get("/metrics").text
    let reasons = try workspace.json("failed").of("failure").compactMap { $0["reason"]?.string }
    #expect(!reasons.isEmpty)
    for secret in [id, "a.jpg", "gone.jpg", "secret-name"] + reasons {
      #expect(!text.contains(secret), "\(secret)")
    }
    try served.stop()
  }

  @Test("Answers are counted by route and code")
  func requests() throws {
    let served = try ServedLibrary(try ServedLibrary.made())
    for _ in 0..<3 { _ = try served.get("/api/v1/grid") }
    _ = try served.get("/a/x")
    _ = try served.get("/", ["Host": "evil.example"])
    let metrics = try MetricSamples(served.get("/metrics").text)
    func count(_ route: String, _ code: Int) -> Int? {
      metrics["pipeline_http_requests_total{route=\"\(route)\",code=\"\(code)\"}"]
    }
    #expect(count("api/v1/grid", 200) == 3 && count("a", 404) == 1 && count("other", 421) == 1)
    let duration = "pipeline_http_request_duration_seconds"
    #expect(metrics["\(duration)_count{route=\"api/v1/grid\"}"] == 3)
    #expect(try #require(metrics.values["process_start_time_seconds"]) > 1_000_000_000)
    #expect(try MetricSamples(served.get("/metrics").text).sum(duration + "_count", "metrics") == 1)
    try served.stop()
  }

  @Test("With a token, they ask for it like everything else")
  func token() throws {
    let workspace = try ServedLibrary.made()
    let token = "0123456789abcdef0123456789abcdef"
    try workspace.write(Array("\(token)\n".utf8), to: "token")
    chmod(workspace.root.appending("token").description, 0o600)
    let served = try ServedLibrary(workspace, "--token-file", "token")
    #expect(try served.get("/metrics").status == 401)
    #expect(try served.get("/metrics", ["Authorization": "Bearer \(token)"]).status == 200)
    try served.stop()
  }

  @Test("A run with failures says so, and `verify` finds damage that stays until it is healed")
  func failures() throws {
    let workspace = try Workspace()
    try workspace.put("bytes", as: "a.txt")
    try workspace.put([UInt8](), as: "empty")
    try workspace.run("run", "--metrics", "m.prom").expectExit(3)
    #expect(try read(workspace, "m.prom")["pipeline_last_run_success"] == 0)
    try workspace.run("verify", "--metrics", "v.prom").expectExit(0)
    #expect(try read(workspace, "v.prom")["pipeline_verify_problems"] == 0)
    let digest = try #require(try workspace.asset(named: "a.txt")["digest"]?.string)
    let original = workspace.library.appending(BytePath("originals/\(digest.prefix(2))/\(digest)"))
    chmod(original.description, 0o600)
    try workspace.write(Array("other".utf8), to: original)
    try workspace.run("verify", "--metrics", "v.prom").expectExit(3)
    let found = try read(workspace, "v.prom")
    #expect(found["pipeline_verify_problems"] == 1)
    #expect(found["pipeline_last_verify_complete"] == 1)
    try workspace.run("run", "--metrics", "m.prom").expectExit(0)
    let metrics = try read(workspace, "m.prom")
    #expect(metrics["pipeline_damaged_assets"] == 1 && metrics["pipeline_last_run_success"] == 1)
  }

  @Test("A file that can't be written is told, and never there in part")
  func refused() throws {
    let workspace = try Workspace()
    try workspace.put("bytes", as: "a.txt")
    // Before any work is done.
    try workspace.run("run", "--metrics", "none/m.prom").expectExit(2)
    try workspace.run("run", "--metrics", "inbox").expectExit(2)
    #expect(workspace.exists(workspace.inbox.appending("a.txt")))
    // A name for which there can be no temporary file beside it; everything else is done.
    let long = BytePath(String(repeating: "m", count: 250))
    try workspace.write(Array("old\n".utf8), to: long)
    let outcome = try workspace.run("run", "--metrics", long)
    #expect(outcome.exitCode == 3 && outcome.errors.contains("mmm"), "\(outcome.errors)")
    #expect(try workspace.assets().count == 1)
    #expect(try workspace.read(long) == Array("old\n".utf8))
    let names = try Descriptor.openFolder(workspace.root).entries().map(\.name)
    #expect(!names.contains { $0.description.hasSuffix(".new") })
    let dry = try workspace.run("run", "--dry-run", "--metrics", "m.prom")
    #expect(dry.exitCode == 0 && !workspace.exists("m.prom"))
  }
}

extension BuiltProgramOutcome {
  fileprivate func expectExit(_ code: Int32, _ place: SourceLocation = #_sourceLocation) throws {
    try #require(exitCode == code, "\(output)\(errors)", sourceLocation: place)
  }
}
