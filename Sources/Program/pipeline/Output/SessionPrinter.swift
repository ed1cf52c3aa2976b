import Dispatch
import Engine
import Ingest
import LibraryControl
import LibrarySession
import PipelineModel
import Records
import Synchronization

/// Prints what happens in a session: as JSON lines, or as messages about failures.
final class SessionPrinter: SessionOutput {
  /// The answer when suspiciously many files are missing.
  enum MissingAnswer: Sendable {
    case yes, no, ask
  }

  private let console: Console
  private let missing: MissingAnswer
  private let hasWarnedOfOverflow = Atomic(false)

  init(_ console: Console, missing: MissingAnswer = .no) {
    self.console = console
    self.missing = missing
  }

  var showsNotices: Bool { (console.isTerminal || console.isVerbose) && !console.isQuiet }

  // MARK: Files and jobs

  func file(_ event: FileEvent) {
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

  func job(_ event: JobEvent) {
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
    console.message("\(event.outcome.rawValue) \(event.stage) of \(event.name.printable)\(reason)")
  }

  func repaired(_ event: RepairEvent) {
    guard console.isJSON else {
      return console.message("\(event.action.rawValue): \(event.message)")
    }
    let problem = event.problem
    var members: [String: JSONValue] = [
      "action": .string(event.action.rawValue), "kind": .string(problem.kind.rawValue),
      "digest": JSONMembers.text(problem.digest?.hex), "path": .null,
      "assets": .array(problem.assets.map { .string($0.description) }),
      "message": .string(event.message),
    ]
    if let path = problem.path { members.merge(JSONMembers.path(path)) { $1 } }
    console.event("repair", members)
  }

  /// Reports a stage that can't run; only its jobs and those that need it wait.
  func held(stage: String, plugin: String, reason: String) {
    if console.isJSON {
      return console.event(
        "stage",
        [
          "stage": .string(stage), "plugin": .string(plugin), "state": "held",
          "class": "environment", "reason": .string(reason),
        ])
    }
    console.error(
      "The stage “\(stage)” (plugin “\(plugin)”) can't run, so its jobs wait: \(reason)")
  }

  func acceptsMissing(_ description: String) -> Bool {
    switch missing {
    case .yes: true
    case .no: false
    case .ask:
      console.ask("\(description) Record them as gone?") { SignalHandler.shared.isStopRequested }
    }
  }

  func log(stage: String, message: String) {
    if console.isVerbose { console.message("\(stage): \(message)") }
  }

  func warning(_ message: String) { console.warning(message) }

  // MARK: The session

  func show(_ progress: SessionProgress, of report: RunReport) -> () -> Void {
    let bar: ProgressBar
    switch progress {
    case .run(let stages, let backlog):
      let start = ContinuousClock().now
      bar = ProgressBar(console: console) {
        RunProgress.line(
          report.counts, stages: stages, backlog: backlog,
          seconds: (ContinuousClock().now - start) / .seconds(1))
      }
    case .watch:
      // Each configuration warns anew.
      hasWarnedOfOverflow.store(false, ordering: .relaxed)
      if console.isTerminal { console.message("Watching; Ctrl-C ends it.") }
      bar = activity(of: report)
    case .work: bar = activity(of: report)
    }
    bar.begin()
    return { bar.end() }
  }

  private func activity(of report: RunReport) -> ProgressBar {
    ProgressBar(console: console, every: .milliseconds(500)) {
      RunProgress.activity(report.counts)
    }
  }

  func began(_ work: WorkBeginning) {
    if console.isJSON {
      var members: [String: JSONValue] = [
        "state": "begun", "catalog": .string(work.catalog),
        "stages": .array(work.stages.map { .string($0) }),
      ]
      members.merge(JSONMembers.path(work.folder, key: "library")) { $1 }
      return console.event("work", members)
    }
    guard console.isTerminal || console.isVerbose else { return }
    let names = work.stages.isEmpty ? "" : " (\(work.stages.joined(separator: ", ")))"
    console.message(
      "Working in “\(work.folder.printable)” for the catalog “\(work.catalog)”: "
        + "\(counted(work.stages.count, "stage"))\(names). Ctrl-C ends it.")
  }

  func watch(_ event: WatchEvent) {
    // Polled sources are rescanned every few seconds.
    if case .rescanned(_, _, isSpecial: false) = event, !console.isVerbose { return }
    let notice = WatchNotice(event)
    if console.isJSON { return console.event("watch", notice.members) }
    switch event {
    case .polled, .away, .full, .storeAway:
      console.warning(notice.text)
    case .overflowed where !hasWarnedOfOverflow.exchange(true, ordering: .relaxed):
      console.warning(notice.text)
    case .returned, .hasRoom, .storeBack, .rescanned(_, _, isSpecial: true):
      console.message(notice.text)
    case .watched, .overflowed, .crowded, .rescanned:
      if console.isVerbose { console.message(notice.text) }
    }
  }

  func waiting(_ notice: String) {
    if console.isTerminal, !console.isJSON { console.message(notice) }
  }

  func ended(_ run: RunResult) { run.print(on: console) }

  func survived(_ error: any Error) { console.failure(error) }

  func message(_ text: String) { console.message(text) }
}

extension RunResult {
  /// Prints why sources were refused, and the summary.
  ///
  /// - Returns: the exit code of the verb that ran.
  func report(on console: Console) -> ExitCode {
    for error in refused { console.failure(error) }
    print(on: console)
    if let code = SignalHandler.shared.exitCode { return code }
    if !refused.isEmpty { return isPartial ? .someFailed : .fatal }
    return counts.hasFailures ? .someFailed : .success
  }

  /// Prints the summary: an event for scripts, a line for users.
  func print(on console: Console) {
    let seconds = took / .seconds(1)
    if console.isJSON {
      var members = counts.counters.mapValues { JSONValue.integer($0) }
      members["run"] = .string(run.description)
      members["seconds"] = .number((seconds * 1000).rounded() / 1000)
      return console.event("summary", members)
    }
    guard console.isTerminal || console.isVerbose || counts.hasFailures else { return }
    let tenths = (seconds * 10).rounded() / 10
    console.message(parts.joined(separator: ", ") + " in \(tenths) s")
  }

  private var parts: [String] {
    var parts = ["\(counts[.imported]) imported"]
    if counts[.duplicate] > 0 { parts.append(counted(counts[.duplicate], "duplicate")) }
    parts += counts.words([.settling, .rejected, .failed, .gone])
    if counts.heldStages > 0 { parts.append("\(counted(counts.heldStages, "stage")) waiting") }
    return parts + counts.words([.done, .skipped, .failed])
  }
}
