import Catalog
import Dispatch
import Engine
import PipelineModel
import Synchronization

/// A line on a terminal that shows how far a run is, drawn ten times a second.
final class ProgressBar: Sendable {
  private let console: Console
  private let report: RunReport
  private let stages: Int
  /// Jobs that were due before the run began.
  private let backlog: Int
  private let start = ContinuousClock().now
  private let isOver = Atomic(false)
  private let queue = DispatchQueue(label: "pipeline.progress")

  init(console: Console, report: RunReport, stages: Int, backlog: Int) {
    self.console = console
    self.report = report
    self.stages = stages
    self.backlog = backlog
  }

  /// Begins to draw; does nothing off a terminal.
  func begin() {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    tick()
  }

  /// Stops drawing and wipes the line.
  func end() {
    isOver.store(true, ordering: .relaxed)
    queue.sync { console.wipe() }
  }

  private func tick() {
    queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [self] in
      guard !isOver.load(ordering: .relaxed) else { return }
      console.draw(line())
      tick()
    }
  }

  private func line() -> String {
    let counts = report.counts
    let ended = counts[.done] + counts[.skipped] + counts[JobEvent.Outcome.failed]
    let jobs = max(ended, backlog + counts[.imported] * stages)
    let seconds = (ContinuousClock().now - start) / .seconds(1)
    let files = counts.files.values.reduce(0, +)
    guard jobs > 0 else { return "\(files) files looked at" }
    let rate = Double(ended) / max(seconds, 0.001)
    let left = rate > 0 ? Double(jobs - ended) / rate : 0
    let width = 24
    let filled = width * ended / jobs
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    return "\(bar) \(ended)/\(jobs) jobs · \(files) files · "
      + "\(Int(rate.rounded()))/s · \(Int(left.rounded(.up))) s left"
  }
}
