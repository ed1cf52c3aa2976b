import LibrarySession
import PipelineModel
import Records

/// `pipeline work`: runs jobs of a library whose files another machine takes.
enum WorkVerb: Verb {
  static let name = "work"
  static let summary = "Run jobs of a library beside the machine that takes its files"
  static let options = [Option.untilIdle]
  static let examples = [
    ("pipeline work", "with ./pipeline.json, until a signal ends it"),
    ("pipeline work --until-idle", "from cron or a batch system: until no job is ready or running"),
    ("pipeline work --json", "one JSON object for each job, and a summary"),
    ("pipeline nodes", "who works, and what on"),
    ("kill -HUP PID", "reload the configuration"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    SignalHandler.shared.listen()
    SignalHandler.shared.listenForReload {}
    context.console.sendAtOnce()
    let result = try WorkLoop(output: SessionPrinter(context.console)).run(
      context.search, untilIdle: context.arguments.has(.untilIdle))
    result.print(on: context.console)
    if let code = SignalHandler.shared.exitCode { return code }
    // A service is not to be started again.
    return result.counts.hasFailures && !result.isDrained ? .someFailed : .success
  }
}

extension WorkResult {
  /// Prints the summary: an event for scripts, a line for users.
  fileprivate func print(on console: Console) {
    let seconds = took / .seconds(1)
    if console.isJSON {
      let names = ["jobsDone", "jobsSkipped", "jobsFailed", "stagesHeld"]
      var members = counts.counters.filter { names.contains($0.key) }
        .mapValues { JSONValue.integer($0) }
      members["seconds"] = .number((seconds * 1000).rounded() / 1000)
      return console.event("summary", members)
    }
    guard console.isTerminal || console.isVerbose || counts.hasFailures else { return }
    let jobs = counts.words([JobEvent.Outcome.done, .skipped, .failed])
    let held = counts.heldStages > 0 ? ["\(counted(counts.heldStages, "stage")) waiting"] : []
    let parts = jobs + held
    console.message(
      "\(parts.isEmpty ? "No jobs" : parts.joined(separator: ", ")) in \((seconds * 10).rounded() / 10) s"
    )
  }
}
