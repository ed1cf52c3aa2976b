import Catalog
import Dispatch
import Engine
import PipelineModel
import Synchronization

/// Follows the jobs of assets that a request imported until none is due.
final class ImportedJobs: Sendable {
  private struct State {
    /// Assets whose jobs may be due, the next one last.
    var rest: [(asset: AssetID, name: BytePath)]
  }

  private static let interval = DispatchTimeInterval.milliseconds(20)

  private let state: Mutex<State>
  private let report: RequestReport
  private let reader: CatalogReader
  private let engine: Engine
  private let queue: DispatchQueue

  init(
    of report: RequestReport, reader: CatalogReader, engine: Engine, queue: DispatchQueue
  ) {
    state = Mutex(State(rest: report.imported.reversed()))
    self.report = report
    self.reader = reader
    self.engine = engine
    self.queue = queue
  }

  /// Reports each finished job, then calls `end`, all on the queue.
  func follow(_ end: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      guard !report.isOver else { return }
      do throws(CatalogError) {
        while let (asset, name) = state.withLock({ $0.rest.last }) {
          let jobs = try reader.jobs(of: asset)
          let now = Timestamp.now
          let held = engine.heldStages
          // The jobs of an asset trashed meanwhile wait until it is restored.
          let isTrashed = try reader.asset(asset)?.state == .trashed
          if !isTrashed, jobs.contains(where: { isDue($0, at: now) && !held.contains($0.stage) }) {
            queue.asyncAfter(deadline: .now() + Self.interval) { [self] in
              follow(end)
            }
            return
          }
          for job in jobs {
            if let event = event(job, of: asset, name) { report.job(event) }
          }
          state.withLock { _ = $0.rest.popLast() }
        }
      } catch {
        report.warning(error.message)
      }
      end()
    }
  }

  private func isDue(_ job: JobRecord, at now: Timestamp) -> Bool {
    switch job.state {
    case .running: true
    case .ready: (job.notBefore ?? now) <= now
    // A waiting job waits for one of the others, or for a failed one to be retried.
    case .waiting, .done, .skipped, .failed: false
    }
  }

  private func event(_ job: JobRecord, of asset: AssetID, _ name: BytePath) -> JobEvent? {
    guard let outcome = outcome(job), let finished = job.finishedAt, finished >= report.start
    else { return nil }  // It ended before this request.
    return JobEvent(
      asset: asset, name: name, stage: job.stage, outcome: outcome,
      failureClass: job.failureClass, reason: job.reason, seconds: job.seconds ?? 0)
  }

  private func outcome(_ job: JobRecord) -> JobEvent.Outcome? {
    switch job.state {
    case .done: .done
    case .skipped: .skipped
    case .failed: .failed
    // A job to be retried counts as a failure of this attempt.
    case .ready, .waiting: job.failureClass == nil ? nil : .failed
    case .running: nil
    }
  }
}
