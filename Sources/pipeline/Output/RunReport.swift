import Catalog
import Engine
import Ingest
import PipelineModel
import Synchronization

/// Counts what a run does, and tells it: as JSON lines, or as messages about
/// what went wrong.
final class RunReport: IngestReport, EngineReport {
  /// What a run has come to so far.
  struct Counts: Sendable {
    var files: [Sighting.State: Int] = [:]
    var jobs: [JobEvent.Outcome: Int] = [:]
    var bytes = 0
    var heldStages = 0

    mutating func add(_ event: FileEvent) {
      files[event.outcome, default: 0] += 1
      bytes += event.storedBytes
    }

    mutating func add(_ event: JobEvent) { jobs[event.outcome, default: 0] += 1 }

    subscript(_ state: Sighting.State) -> Int { files[state] ?? 0 }
    subscript(_ outcome: JobEvent.Outcome) -> Int { jobs[outcome] ?? 0 }

    /// Whether anything was counted.
    var hasAny: Bool { !files.isEmpty || !jobs.isEmpty }

    /// Whether something failed that `run` has to answer for with its exit code.
    var hasFailures: Bool {
      self[Sighting.State.failed] + self[.rejected] + self[JobEvent.Outcome.failed] + heldStages > 0
    }
  }

  /// What is said when more files are missing than is believed.
  enum MissingAnswer: Sendable {
    case yes, no, ask
  }

  /// Who is told of what.
  private struct Listeners {
    /// Told after each commit of ingest.
    var onCommit: (@Sendable () -> Void)?
    /// Told when the engine can't go on.
    var onFailure: (@Sendable () -> Void)?
  }

  private let console: Console
  private let missing: MissingAnswer
  private let state = Mutex(Counts())
  // Within a struct: a function that is itself what the lock holds is wrapped once more by each
  // look at it, until a call of it needs more stack than there is.
  // Source: github.com/swiftlang/swift/issues/91348.
  private let listeners = Mutex(Listeners())
  /// When a path or a job was last told.
  private let lastEvent = Mutex<ContinuousClock.Instant?>(nil)

  init(console: Console, missing: MissingAnswer = .no) {
    self.console = console
    self.missing = missing
  }

  var counts: Counts { state.withLock { $0 } }

  /// Sets what is called after each commit of ingest.
  func afterCommit(_ body: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.onCommit = body }
  }

  /// Sets what is called, on the engine's own queue, when the engine can't go on.
  func afterFailure(_ body: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.onFailure = body }
  }

  /// Forgets who is told of commits and failures.
  func forget() { listeners.withLock { $0 = Listeners() } }

  /// When the last path or job was told, `nil` if none was.
  var lastEventAt: ContinuousClock.Instant? { lastEvent.withLock { $0 } }

  /// Returns what was counted, and begins to count anew.
  func takeCounts() -> Counts {
    state.withLock { counts in
      defer { counts = Counts() }
      return counts
    }
  }

  private func noteEvent() { lastEvent.withLock { $0 = ContinuousClock().now } }

  // MARK: IngestReport

  func file(_ event: FileEvent) {
    state.withLock { $0.add(event) }
    noteEvent()
    if console.isJSON {
      var members: [String: JSONValue] = [
        "outcome": .string(event.outcome.rawValue),
        "asset": JSONMembers.text(event.asset?.description),
        "reason": JSONMembers.text(event.reason),
      ]
      members.merge(JSONMembers.path(event.path)) { $1 }
      return console.event("file", members)
    }
    let isTrouble = event.outcome == .failed || event.outcome == .rejected
    guard isTrouble || console.isVerbose else { return }
    let reason = event.reason.map { ": \($0)" } ?? ""
    console.message("\(event.outcome.rawValue) \(event.path.printable)\(reason)")
  }

  func committed() {
    // Copied first: nothing is called out under a lock.
    let body = listeners.withLock { $0.onCommit }
    body?()
  }

  func goesOn() { Pulse.shared.beat() }

  func acceptsMissing(_ description: String) -> Bool {
    switch missing {
    case .yes: true
    case .no: false
    case .ask:
      console.ask("\(description) Record them as gone?") { Interruption.shared.isRequested }
    }
  }

  // MARK: EngineReport

  func job(_ event: JobEvent) {
    state.withLock { $0.add(event) }
    noteEvent()
    if console.isJSON {
      return console.event(
        "job",
        [
          "asset": .string(event.asset.description),
          "stage": .string(event.stage),
          "outcome": .string(event.outcome.rawValue),
          "class": JSONMembers.text(event.failureClass),
          "reason": JSONMembers.text(event.reason),
          "seconds": .number(event.seconds),
        ])
    }
    // Of what the machine lacks the stage tells, once for all of its jobs.
    let isTrouble = event.outcome == .failed && event.failureClass != "environment"
    guard isTrouble || console.isVerbose else { return }
    let reason = event.reason.map { ": \($0)" } ?? ""
    console.message(
      "\(event.outcome.rawValue) \(event.stage) of \(event.name.printable)\(reason)")
  }

  func held(stage: String, plugin: String, reason: String) {
    state.withLock { $0.heldStages += 1 }
    console.held(stage: stage, plugin: plugin, reason: reason)
  }

  func failed() {
    let body = listeners.withLock { $0.onFailure }
    body?()
  }

  func log(stage: String, message: String) {
    if console.isVerbose { console.message("\(stage): \(message)") }
  }

  func warning(_ message: String) { console.warning(message) }
}

extension RunReport.Counts {
  /// The counters of the summary, by the names that scripts know.
  var counters: [String: Int] {
    [
      "imported": self[.imported], "duplicates": self[.duplicate], "ignored": self[.ignored],
      "rejected": self[.rejected], "settling": self[.settling],
      "failed": self[Sighting.State.failed], "gone": self[.gone],
      "jobsDone": self[.done], "jobsSkipped": self[.skipped],
      "jobsFailed": self[JobEvent.Outcome.failed], "bytes": bytes,
    ]
  }
}
