import Engine
import PipelineModel

/// Says on a terminal what is waited for when nothing was told for long.
struct SilenceNotice {
  /// How long nothing may be told.
  static let patience = Duration.seconds(30)

  private var toldAt: ContinuousClock.Instant

  /// Begins to wait.
  init(at start: ContinuousClock.Instant = ContinuousClock().now) { toldAt = start }

  /// Says what is waited for, if it is time.
  mutating func look(_ console: Console, _ report: RunReport, _ engine: Engine) {
    guard console.isTerminal, !console.isJSON else { return }
    let now = ContinuousClock().now
    if let text = text(at: now, lastEvent: report.lastEventAt, waitingFor: engine.longestJob) {
      console.message(text)
    }
  }

  /// What there is to be said; `nil` for nothing.
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
