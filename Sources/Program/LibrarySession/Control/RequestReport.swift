import Catalog
import Dispatch
import Engine
import Ingest
import LibraryControl
import PipelineModel
import Records
import Synchronization

/// Sends a request's events to the process that made it, and counts them.
final class RequestReport: IngestReport, Sendable {
  typealias Imported = (asset: AssetID, name: BytePath)

  private struct State {
    var counts = RunCounts()
    var imported: [Imported] = []
  }

  private let connection: ControlConnection
  private let onCommit: @Sendable () -> Void
  private let state = Mutex(State())
  let start = Timestamp.now

  init(to connection: ControlConnection, onCommit: @escaping @Sendable () -> Void) {
    self.connection = connection
    self.onCommit = onCommit
  }

  /// The imported assets with their file names.
  var imported: [Imported] { state.withLock { $0.imported } }
  var counts: RunCounts { state.withLock { $0.counts } }
  var isOver: Bool { connection.isOver }

  func file(_ event: FileEvent) {
    state.withLock { state in
      state.counts.add(event)
      if event.outcome == .imported, let asset = event.asset {
        state.imported.append((asset, event.path.lastComponent))
      }
    }
    connection.send(.file(event))
  }

  func job(_ event: JobEvent) {
    state.withLock { $0.counts.add(event) }
    connection.send(.job(event))
  }

  func repaired(_ event: RepairEvent) { connection.send(.repaired(event)) }

  func committed() { onCommit() }

  func warning(_ message: String) { connection.send(.warning(message)) }
}

/// Follows the jobs of assets that a request imported until none is due.
///
/// It asks the catalog by a reading connection, so it does not wait for the passes on
/// `pipeline.engine`.
struct ImportedJobs: Sendable {
  private static let interval = DispatchTimeInterval.milliseconds(20)

  let report: RequestReport
  let reader: CatalogReader
  let engine: Engine
  let queue: DispatchQueue

  /// Reports each finished job, then calls `end`, all on the queue.
  func follow(_ end: @escaping @Sendable () -> Void) {
    queue.async { follow(report.imported[...], end) }
  }

  /// - Parameter rest: assets whose jobs may be due.
  private func follow(
    _ rest: ArraySlice<RequestReport.Imported>, _ end: @escaping @Sendable () -> Void
  ) {
    guard !report.isOver else { return }
    var rest = rest
    do throws(CatalogError) {
      while let (asset, name) = rest.first {
        let jobs = try reader.jobs(of: asset)
        // The jobs of an asset trashed meanwhile wait until it is restored.
        let isTrashed = try reader.asset(asset)?.state == .trashed
        if !isTrashed, try isOneDue(jobs) {
          return queue.asyncAfter(deadline: .now() + Self.interval) { [rest] in follow(rest, end) }
        }
        for job in jobs {
          if let event = event(job, of: asset, name) { report.job(event) }
        }
        rest.removeFirst()
      }
    } catch {
      report.warning(error.message)
    }
    end()
  }

  private func isOneDue(_ jobs: [JobRecord]) throws(CatalogError) -> Bool {
    let held = engine.heldStages
    let jobs = jobs.filter { !held.contains($0.stage) }
    if jobs.contains(where: { $0.state == .running }) { return true }
    // A waiting job waits for one of the others, or for a failed one to be retried.
    let ready = jobs.filter { $0.state == .ready }
    if ready.contains(where: { $0.notBefore == nil }) { return true }
    guard let first = ready.compactMap(\.notBefore).min() else { return false }
    return first <= (try reader.ledgerTime())
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
