import Catalog
import Glibc
import Ingest
import PipelineModel

/// `pipeline watch`: ingests files as they become complete, until a signal.
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
    SignalHandler.shared.listen()
    CatalogLocks.busyHandler = ReportingBusyHandler(context.console, bound: nil)
    SignalHandler.shared.listenForReload { wakeup.wake() }
    var end = WatchSession.Outcome.reload(try LockedLibrary(context, makesLibrary: true))
    Heartbeat.shared.begin(service)
    repeat {
      let next: LockedLibrary
      switch end {
      case .signal: return exitCode
      case .reload(let locked): next = locked
      case .letGo(let library):
        guard let locked = try regain(library) else { return exitCode }
        next = locked
      }
      // Drop the reference: releasing the library requires that nothing keeps its lock.
      end = .signal
      do {
        end = try WatchSession(context, next, service: service, wakeup: wakeup).run()
      } catch let error where FullDisk.isCause(of: error) {
        Failure(error).print(on: context.console)
        guard FullDisk.wait(for: next) else { return exitCode }
        end = .reload(next)
      }
    } while !SignalHandler.shared.isStopRequested
    return exitCode
  }

  private static var exitCode: ExitCode { SignalHandler.shared.exitCode ?? .success }

  /// Waits until the library is free again, or a signal comes.
  private static func regain(_ library: ConfiguredLibrary) throws -> LockedLibrary? {
    // Give the requesting process time to take the lock.
    let start = ContinuousClock().now + .seconds(1)
    while !SignalHandler.shared.isStopRequested {
      if ContinuousClock().now > start, let lock = try library.found.attemptLock() {
        return LockedLibrary(library, lock: lock)
      }
      Heartbeat.shared.beat()
      usleep(100_000)
    }
    return nil
  }
}
