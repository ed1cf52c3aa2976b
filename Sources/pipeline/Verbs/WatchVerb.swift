import Ingest
import PipelineModel

/// `pipeline watch`: takes what is complete as it comes, for ever.
enum WatchVerb: Verb {
  static let name = "watch"
  static let summary = "Take files as they come and run their jobs, until a signal ends it"
  static let options = [Option.wait]
  static let examples = [
    ("pipeline watch", "with ./pipeline.json; Ctrl-C ends it"),
    ("pipeline watch --verbose", "say what happens to each file"),
    ("pipeline watch --json", "one JSON object for each file and job, and for each run a summary"),
    ("kill -HUP PID", "read the configuration again"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let service = ServiceManager(environment: context.environment)
    let wakeup = Wakeup()
    context.console.sendAtOnce()
    Interruption.shared.listen()
    Interruption.shared.listenForReload { wakeup.wake() }
    var locked: LockedLibrary? = try LockedLibrary(context, makesLibrary: true)
    Pulse.shared.begin(service)
    while let current = locked, !Interruption.shared.isRequested {
      locked = try WatchSession(context, current, service: service, wakeup: wakeup).run()
    }
    return Interruption.shared.exitCode ?? .success
  }
}
