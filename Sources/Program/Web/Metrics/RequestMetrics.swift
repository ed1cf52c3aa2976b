import Glibc
import LibrarySession
import Synchronization

/// Counts the answers by route and code, and how long they took; and what this process used.
final class RequestMetrics: Sendable {
  private struct Answers {
    var byCode: [Int: Int] = [:]
    /// How many began within each of `bounds`, and took longer.
    var byTime = [Int](repeating: 0, count: RequestMetrics.bounds.count + 1)
    var seconds = 0.0

    mutating func add(_ code: Int, _ bucket: Int, _ taken: Double) {
      byCode[code, default: 0] += 1
      byTime[bucket] += 1
      seconds += taken
    }
  }

  private let routes = Mutex<[String: Answers]>([:])
  private let start = time(nil)
  private let pacing: ImportPacing

  /// The upper bounds of a histogram's buckets, in seconds.
  private static let bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2, 10]

  init(_ pacing: ImportPacing) { self.pacing = pacing }

  /// Counts an answer.
  ///
  /// - Parameters:
  ///   - path: the components of the request's path; `nil` if it was refused before it was read.
  ///   - taken: from the first line of the request to the beginning of the answer.
  func count(_ path: [String]?, code: Int, taken: Duration) {
    let seconds = taken / .seconds(1)
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    let route = Self.route(path)
    routes.withLock { $0[route, default: Answers()].add(code, bucket, seconds) }
  }

  // MARK: Routes

  /// The routes of `WebResponder`, by the first component of their path, and those below `api/v1`.
  private static let known: Set = [
    "day", "a", "work", "login", "r", "o", "static", "iiif", "healthz", "metrics",
  ]
  private static let ofInterface: Set = [
    "grid", "assets", "complete", "status", "failures", "events", "edit", "retry",
  ]

  /// The name of a route: one of these words, so that strangers can't make labels.
  static func route(_ path: [String]?) -> String {
    guard let path else { return "other" }
    guard let first = path.first else { return "/" }
    if known.contains(first) { return first }
    if path.count > 2, path[..<2] == ["api", "v1"], ofInterface.contains(path[2]) {
      return "api/v1/\(path[2])"
    }
    return "other"
  }

  // MARK: Writing

  func write(to text: inout MetricText) {
    let routes = routes.withLock { $0 }.sorted { $0.key < $1.key }
    text.add(
      "pipeline_http_requests_total", .counter, "Requests answered, by route and status code",
      routes.flatMap { route, answers in
        answers.byCode.sorted { $0.key < $1.key }.map { code, count in
          .init(["route": route, "code": "\(code)"], .count(count))
        }
      })
    text.add(
      "pipeline_http_request_duration_seconds", .histogram,
      "Time from the first line of a request to the beginning of its answer",
      routes.flatMap { Self.histogram($0.key, $0.value) })
    text.add(
      "pipeline_http_pacing_seconds_total", .counter,
      "Time for which threads that answer waited, so that an import was not slowed down",
      .measure(pacing.waited))
    writeProcess(to: &text)
  }

  private static func histogram(_ route: String, _ answers: Answers) -> [MetricText.Sample] {
    var samples: [MetricText.Sample] = []
    var sum = 0
    for (bound, count) in zip(bounds + [.infinity], answers.byTime) {
      sum += count
      let name = bound == .infinity ? "+Inf" : "\(bound)"
      samples.append(.init(["route": route, "le": name], suffix: "_bucket", .count(sum)))
    }
    samples.append(.init(["route": route], suffix: "_sum", .measure(answers.seconds)))
    samples.append(.init(["route": route], suffix: "_count", .count(sum)))
    return samples
  }

  /// What can be known without `/proc`, which the sandbox hides. Source: clock_gettime(2).
  private func writeProcess(to text: inout MetricText) {
    var used = timespec()
    if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 {
      text.add(
        "process_cpu_seconds_total", .counter, "Processor time of the process that answers",
        .measure(Double(used.tv_sec) + Double(used.tv_nsec) / 1e9))
    }
    text.add(
      "process_start_time_seconds", .gauge, "When the process that answers started",
      .measure(Double(start)))
  }
}
