import Catalog
import Engine
import Ingest
import PipelineModel
import Synchronization

/// Counts the events of a run and prints them: as JSON lines, or as messages
/// about failures.
final class RunReport: IngestReport, EngineReport {
  /// The events of a run so far.
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

    var hasAny: Bool { !files.isEmpty || !jobs.isEmpty }

    /// Whether `run` must exit with `someFailed`.
    var hasFailures: Bool {
      self[Sighting.State.failed] + self[.rejected] + self[JobEvent.Outcome.failed] + heldStages > 0
    }
  }

  /// The answer when suspiciously many files are missing.
  enum MissingAnswer: Sendable {
    case yes, no, ask
  }

  private struct Listeners {
    /// Called after each commit of ingest.
    var onCommit: (@Sendable () -> Void)?
    /// Called when the engine can't continue.
    var onFailure: (@Sendable () -> Void)?
  }

  private let console: Console
  private let missing: MissingAnswer
  private let state = Mutex(Counts())
  // In a struct: a closure held directly by a `Mutex` is wrapped again by each access, until
  // calling it overflows the stack.
  // Source: github.com/swiftlang/swift/issues/91348.
  private let listeners = Mutex(Listeners())
  /// When a path or a job was last reported.
  private let lastEvent = Mutex<ContinuousClock.Instant?>(nil)

  init(console: Console, missing: MissingAnswer = .no) {
    self.console = console
    self.missing = missing
  }

  var counts: Counts { state.withLock { $0 } }

  /// Sets the closure called after each commit of ingest.
  func afterCommit(_ body: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.onCommit = body }
  }

  /// Sets the closure called on the engine's queue when the engine can't continue.
  func afterFailure(_ body: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.onFailure = body }
  }

  /// Removes the closures for commits and failures.
  func forget() { listeners.withLock { $0 = Listeners() } }

  /// When a path or a job was last reported; `nil` if none was.
  var lastEventAt: ContinuousClock.Instant? { lastEvent.withLock { $0 } }

  /// Returns the counts and resets them.
  func consumeCounts() -> Counts {
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
    // Copied first, so that it is not called under the lock.
    let body = listeners.withLock { $0.onCommit }
    body?()
  }

  func stillWorking() { Heartbeat.shared.beat() }

  func acceptsMissing(_ description: String) -> Bool {
    switch missing {
    case .yes: true
    case .no: false
    case .ask:
      console.ask("\(description) Record them as gone?") { SignalHandler.shared.isStopRequested }
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
    // A stage reports environment failures once for all of its jobs.
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
  /// The summary's counters by their JSON names.
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
