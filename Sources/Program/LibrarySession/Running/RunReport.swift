import Catalog
package import Engine
package import Ingest
package import PipelineModel
package import Records
import Synchronization

/// Shows what happens in a session; the command line prints it.
///
/// Called on the session's thread and on queues of the engine.
package protocol SessionOutput: WatchReport, EngineReport {
  /// Whether somebody reads notices about the machine, as on a terminal.
  var showsNotices: Bool { get }
  /// Shows the progress of a session until the returned closure is called.
  func show(_ progress: SessionProgress, of report: RunReport) -> () -> Void
  /// A repair has dealt with a problem.
  func repaired(_ event: RepairEvent)
  /// `work` has begun, or begun anew with another configuration.
  func began(_ work: WorkBeginning)
  /// Says what a session has been waiting for in silence.
  func waiting(_ notice: String)
  /// A run of `watch` has ended.
  func ended(_ run: RunResult)
  /// The session goes on after an error.
  func survived(_ error: any Error)
  func message(_ text: String)
}

extension SessionOutput {
  package func committed() {}
}

/// What there is to show of a session's progress besides its counts.
package enum SessionProgress: Sendable {
  /// A run with this many stages; `backlog` jobs were due before it began.
  case run(stages: Int, backlog: Int)
  case watch
  case work
}

/// Counts the events of a run, and passes them on to be shown.
package final class RunReport: IngestReport, EngineReport {
  private struct Listeners {
    var onCommit: @Sendable () -> Void = {}
    var onFailure: @Sendable () -> Void = {}
  }

  private struct State {
    var counts = RunCounts()
    var lastEventAt: ContinuousClock.Instant?
  }

  let output: any SessionOutput
  private let state = Mutex(State())
  // In a struct: a closure held directly by a `Mutex` is wrapped again by each access, until
  // calling it overflows the stack.
  // Source: github.com/swiftlang/swift/issues/91348.
  private let listeners = Mutex(Listeners())

  package init(_ output: any SessionOutput) { self.output = output }

  package var counts: RunCounts { state.withLock { $0.counts } }

  /// Sets what is called after each commit of ingest, and on the engine's queue when the engine
  /// can't continue.
  func listen(
    onCommit: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable () -> Void = {}
  ) {
    listeners.withLock { $0 = Listeners(onCommit: onCommit, onFailure: onFailure) }
  }

  /// Undoes `listen`.
  func forget() { listeners.withLock { $0 = Listeners() } }

  /// When a path or a job was last reported; `nil` if none was.
  var lastEventAt: ContinuousClock.Instant? { state.withLock { $0.lastEventAt } }

  /// Returns the counts and resets them.
  func consumeCounts() -> RunCounts {
    state.withLock { state in
      defer { state.counts = RunCounts() }
      return state.counts
    }
  }

  private func count(_ add: (inout RunCounts) -> Void) {
    state.withLock { state in
      add(&state.counts)
      state.lastEventAt = ContinuousClock().now
    }
  }

  // MARK: Other processes

  /// Counts what other processes did meanwhile.
  func add(_ jobs: [JobEvent.Outcome: Int]) { state.withLock { $0.counts.add(jobs) } }

  /// Tells of other processes that work on the library, and of the catalog's server.
  func hear(_ news: ParticipantNews) {
    switch news {
    case .departed(let nodes, let failed):
      for (node, gone) in Dictionary(grouping: nodes, by: { $0 }).sorted(by: { $0.key < $1.key }) {
        output.warning(
          gone.count == 1
            ? "A process on \(node) is gone; its jobs are ready again."
            : "\(gone.count) processes on \(node) are gone; their jobs are ready again.")
      }
      for event in failed { job(event) }
    case .overtaken(let count):
      output.warning(
        "\(counted(count, "result")) came after others had taken the jobs over, and were dropped.")
    case .readyJobs: break
    case .serverAway(let error):
      output.warning("\(error.message) It is tried again; nothing is lost.")
    case .serverBack: output.message("The catalog's server is back.")
    }
  }

  // MARK: IngestReport

  package func file(_ event: FileEvent) {
    count { $0.add(event) }
    output.file(event)
  }

  package func committed() {
    // Copied first, so that it is not called under the lock.
    let body = listeners.withLock { $0.onCommit }
    body()
  }

  package func stillWorking() { Heartbeat.shared.beat() }

  package func acceptsMissing(_ description: String) -> Bool {
    output.acceptsMissing(description)
  }

  package func repaired(_ event: RepairEvent) { output.repaired(event) }

  package func warning(_ message: String) { output.warning(message) }

  package func notice(_ message: String) { output.message(message) }

  // MARK: EngineReport

  package func job(_ event: JobEvent) {
    count { $0.add(event) }
    output.job(event)
  }

  package func held(stage: String, plugin: String, reason: String) {
    state.withLock { $0.counts.heldStages += 1 }
    output.held(stage: stage, plugin: plugin, reason: reason)
  }

  package func failed() {
    let body = listeners.withLock { $0.onFailure }
    body()
  }

  package func log(stage: String, message: String) { output.log(stage: stage, message: message) }
}

/// The events of a run by their kind.
package struct RunCounts: Sendable {
  package private(set) var files: [Sighting.State: Int] = [:]
  private var jobs: [JobEvent.Outcome: Int] = [:]
  private var bytes = 0
  package internal(set) var heldStages = 0

  mutating func add(_ event: FileEvent) {
    files[event.outcome, default: 0] += 1
    bytes += event.storedBytes
  }

  mutating func add(_ outcomes: [JobEvent.Outcome: Int]) {
    jobs.merge(outcomes, uniquingKeysWith: +)
  }

  mutating func add(_ event: JobEvent) { jobs[event.outcome, default: 0] += 1 }

  package subscript(_ state: Sighting.State) -> Int { files[state] ?? 0 }
  package subscript(_ outcome: JobEvent.Outcome) -> Int { jobs[outcome] ?? 0 }

  package var hasAny: Bool { !files.isEmpty || !jobs.isEmpty }

  /// Whether a file or a job failed, or a stage could not run.
  package var hasFailures: Bool {
    self[Sighting.State.failed] + self[.rejected] + self[JobEvent.Outcome.failed] + heldStages > 0
  }

  /// Counts above 0, each with the name of its state.
  package func words(_ states: [Sighting.State]) -> [String] {
    states.filter { self[$0] > 0 }.map { "\(self[$0]) \($0.rawValue)" }
  }

  /// Counts of jobs above 0, each with the name of its outcome.
  package func words(_ outcomes: [JobEvent.Outcome]) -> [String] {
    outcomes.filter { self[$0] > 0 }.map { "\(counted(self[$0], "job")) \($0.rawValue)" }
  }

  /// The counters by their names in JSON and in the catalog.
  package var counters: [String: Int] {
    [
      "imported": self[.imported], "duplicates": self[.duplicate], "ignored": self[.ignored],
      "rejected": self[.rejected], "settling": self[.settling],
      "failed": self[Sighting.State.failed], "gone": self[.gone],
      "jobsDone": self[.done], "jobsSkipped": self[.skipped],
      "jobsFailed": self[JobEvent.Outcome.failed], "bytes": bytes, "stagesHeld": heldStages,
    ]
  }

  /// Whether a recorded run had no failures, given its counters by their names.
  static func areSuccess(_ counters: [String: Int]) -> Bool {
    ["failed", "rejected", "jobsFailed", "stagesHeld", "sourcesRefused"]
      .allSatisfy { counters[$0, default: 0] == 0 }
  }
}

/// A run that ended.
package struct RunResult: Sendable {
  package let run: AssetID
  package let counts: RunCounts
  package let took: Duration
  /// Why sources were refused.
  package var refused: [IngestError] = []
  /// Whether others of the sources were imported: those refused are just missing.
  package var isPartial = false
}
