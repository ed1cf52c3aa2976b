import Engine
import PipelineModel

/// Reports on a terminal what a run waits for after a long silence.
struct SilenceNotice {
  /// How long a silence may last.
  static let patience = Duration.seconds(30)

  private var toldAt: ContinuousClock.Instant

  init(at start: ContinuousClock.Instant = ContinuousClock().now) { toldAt = start }

  /// Prints the notice if it is due.
  mutating func look(_ console: Console, _ report: RunReport, _ engine: Engine) {
    guard console.isTerminal, !console.isJSON else { return }
    let now = ContinuousClock().now
    if let text = text(at: now, lastEvent: report.lastEventAt, waitingFor: engine.longestJob) {
      console.message(text)
    }
  }

  /// The notice; `nil` if it is not due.
  mutating func text(
    at now: ContinuousClock.Instant, lastEvent: ContinuousClock.Instant?,
    waitingFor job: RunningJob?
  ) -> String? {
    let last = max(lastEvent ?? toldAt, toldAt)
    guard now - last >= Self.patience, let job, now - job.since >= Self.patience else { return nil }
    toldAt = now
    let seconds = (now - job.since).components.seconds
    return "Waiting for the stage “\(job.stage)” on “\(job.name.printable)”, which has taken "
      + "\(seconds) s and may take \(job.limit)."
  }
}
