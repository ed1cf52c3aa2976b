import Ingest
import LibrarySession
import PipelineModel

/// `pipeline watch`: imports files as they become complete, until a signal.
enum WatchVerb: Verb {
  static let name = "watch"
  static let summary = "Take files as they come and run their jobs, until a signal ends it"
  static let options = [Option.wait]
  static let examples = [
    ("pipeline watch", "with ./pipeline.json; Ctrl-C ends it"),
    ("pipeline watch --verbose", "report what happens to each file"),
    ("pipeline watch --json", "one JSON object for each file and job, and a summary for each run"),
    ("kill -HUP PID", "reload the configuration"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let service = ServiceManager(environment: context.environment.mapValues(\.description))
    let wakeup = Wakeup()
    context.console.sendAtOnce()
    SignalHandler.shared.listen { wakeup.wake() }
    context.console.warnOfBusyCatalog(waitingAtMost: nil)
    SignalHandler.shared.listenForReload { wakeup.wake() }
    let wait = try context.wait()
    try WatchLoop(output: SessionPrinter(context.console), service: service, wakeup: wakeup)
      .run { try SessionPlace.open(context.search, wait: wait) }
    return SignalHandler.shared.exitCode ?? .success
  }
}
