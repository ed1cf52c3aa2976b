import Fixtures
import Foundation
import PipelineModel
import Testing

/// The alerts and the dashboard that are installed, by Prometheus' own tool, and what they are made of.
@Suite("Monitoring", .timeLimit(.minutes(2)))
struct MonitoringTests {
  private static let folder = Checkout.root.appending(path: "Packaging/monitoring")
  private static let withTool = ConditionTrait.enabled(
    if: MetricSamples.hasTool, "promtool, of Debian's package prometheus, is not here.")

  private func text(_ name: String) throws -> String {
    try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
  }

  /// The queries of all panels, with Grafana's variables replaced.
  private func queries() throws -> [String] {
    let board = try JSONText.decode(JSONValue.self, from: Array(try text("dashboard.json").utf8))
    let panels = try #require(board["panels"]?.array)
    return panels.flatMap { $0["targets"]?.array ?? [] }.compactMap { $0["expr"]?.string }.map {
      $0.replacing("$__rate_interval", with: "5m").replacing("$instance", with: "a")
    }
  }

  @Test("The rules are valid, and each alert fires when it should and not otherwise", withTool)
  func rules() throws {
    let rules = Self.folder.appending(path: "alerts.yml").path
    let said = try MetricSamples.complaints(["check", "rules", rules])
    #expect(said.contains("SUCCESS"), "\(said)")
    let tests = Self.folder.appending(path: "alerts-test.yml").path
    let outcome = try MetricSamples.complaints(["test", "rules", tests])
    #expect(outcome.contains("SUCCESS") && !outcome.contains("exit"), "\(outcome)")
    // Every alert is tried, both ways.
    let examples = try text("alerts-test.yml")
    for alert in try text("alerts.yml").matches(of: /alert: (\w+)/).map(\.1) {
      let tried = examples.matches(of: try Regex("alertname: \(alert)\\b")).count
      #expect(tried > 1, "\(alert)")
    }
  }

  @Test("Prometheus understands every query of the dashboard", withTool)
  func dashboard() throws {
    let queries = try queries()
    #expect(queries.count > 10)
    let rules = queries.enumerated().map { number, query in
      "      - record: \"panel:\(number)\"\n        expr: |\n          \(query)\n"
    }
    let folder = try TemporaryFolder()
    let file = folder.appending("rules.yml").description
    try "groups:\n  - name: x\n    rules:\n\(rules.joined())"
      .write(toFile: file, atomically: true, encoding: .utf8)
    let said = try MetricSamples.complaints(["check", "rules", file])
    #expect(said.contains("SUCCESS: \(queries.count) rules"), "\(said)")
  }

  @Test("The page on metrics has all that there are, and alerts and dashboard use no others")
  func names() throws {
    let workspace = try Workspace()
    try workspace.put("bytes", as: "a.txt")
    for (verb, file): (BytePath, BytePath) in [("run", "m.prom"), ("verify", "v.prom")] {
      let outcome = try workspace.run(verb, "--metrics", file)
      try #require(outcome.exitCode == 0, "\(outcome.errors)")
    }
    let served = try ServedLibrary(workspace)
    _ = try served.get("/")
    let text =
      try ["m.prom", "v.prom"].map {
        String(decoding: try workspace.read(BytePath($0)), as: UTF8.self)
      }.joined() + served.get("/metrics").text
    try served.stop()
    let made = Set(text.matches(of: /# TYPE (\w+)/).map { String($0.1) })
    let page = try String(
      contentsOf: Checkout.root.appending(path: "docs/metrics.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
    let documented = rows.flatMap { row in
      (row.split(separator: "|").first ?? "").matches(of: /`((?:pipeline|process)_\w+)/)
        .map { String($0.1) }
    }
    #expect(made.subtracting(documented) == [])
    #expect(Set(documented).subtracting(made) == [])
    let others = try self.text("alerts.yml") + queries().joined(separator: " ")
    let used = Set(others.matches(of: /\bpipeline_\w+/).map { String($0.0) })
    #expect(used.count > 10)
    for name in used {
      let base = name.hasSuffix("_seconds_bucket") ? String(name.dropLast("_bucket".count)) : name
      #expect(made.contains(base), "\(name)")
    }
  }
}
