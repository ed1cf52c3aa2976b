import Catalog
import Engine
import Ingest
import PipelineModel

/// The progress line of a run.
struct RunProgress: Sendable {
  private let report: RunReport
  private let stages: Int
  /// Jobs that were due before the run began.
  private let backlog: Int
  private let start = ContinuousClock().now

  init(report: RunReport, stages: Int, backlog: Int) {
    self.report = report
    self.stages = stages
    self.backlog = backlog
  }

  var line: String {
    Self.line(
      report.counts, stages: stages, backlog: backlog,
      seconds: (ContinuousClock().now - start) / .seconds(1))
  }

  /// - Parameter seconds: how long the run has taken so far.
  static func line(
    _ counts: RunReport.Counts, stages: Int, backlog: Int, seconds: Double
  ) -> String {
    let ended = counts[.done] + counts[.skipped] + counts[JobEvent.Outcome.failed]
    let jobs = max(ended, backlog + counts[.imported] * stages)
    let files = counts.files.values.reduce(0, +)
    guard jobs > 0 else { return "\(counted(files, "file")) looked at" }
    let rate = Double(ended) / max(seconds, 0.001)
    let width = 24
    let filled = width * ended / jobs
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    var line = "\(bar) \(ended)/\(jobs) jobs · \(counted(files, "file"))"
    if ended == jobs {
      // The run is not over: files may have to settle, or last results await writing.
      line += " · waiting for more files"
    } else if rate > 0 {
      let left = Int((Double(jobs - ended) / rate).rounded(.up))
      line += " · \(Int(rate.rounded()))/s · \(max(left, 1)) s left"
    }
    return line
  }
}
