import LibrarySession
import Testing

@testable import Web

@Suite("Metrics of requests", .timeLimit(.minutes(1)))
struct RequestMetricsTests {
  @Test("Whatever a stranger asks for, the labels are the server's own words")
  func routes() {
    #expect(RequestMetrics.route([]) == "/")
    #expect(RequestMetrics.route(["a", "0190b5a4-0000-7000-8000-000000000001"]) == "a")
    #expect(RequestMetrics.route(["api", "v1", "assets", "x"]) == "api/v1/assets")
    for path in [["x"], ["api"], ["api", "v1"], ["api", "v1", "x"], ["api", "v2", "grid"], [""]] {
      #expect(RequestMetrics.route(path) == "other", "\(path)")
    }
    #expect(RequestMetrics.route(nil) == "other")
  }

  @Test("Buckets are cumulative, and their last is the count")
  func histogram() {
    let metrics = RequestMetrics(ImportPacing())
    for milliseconds in [0, 1, 2, 30, 20_000] {
      metrics.count(["o", "x"], code: 200, taken: .milliseconds(milliseconds))
    }
    metrics.count(["o", "y"], code: 404, taken: .milliseconds(1))
    var text = MetricText()
    metrics.write(to: &text)
    let lines = Set(text.text.split(separator: "\n").map(String.init))
    let duration = "pipeline_http_request_duration_seconds"
    for line in [
      "pipeline_http_requests_total{route=\"o\",code=\"200\"} 5",
      "pipeline_http_requests_total{route=\"o\",code=\"404\"} 1",
      "\(duration)_bucket{route=\"o\",le=\"0.001\"} 3",
      "\(duration)_bucket{route=\"o\",le=\"0.005\"} 4",
      "\(duration)_bucket{route=\"o\",le=\"0.025\"} 4",
      "\(duration)_bucket{route=\"o\",le=\"0.1\"} 5",
      "\(duration)_bucket{route=\"o\",le=\"10.0\"} 5",
      "\(duration)_bucket{route=\"o\",le=\"+Inf\"} 6", "\(duration)_count{route=\"o\"} 6",
      "# TYPE \(duration) histogram",
    ] { #expect(lines.contains(line), "\(line)\n\(text.text)") }
    #expect(text.text.contains("\nprocess_cpu_seconds_total "))
  }
}
