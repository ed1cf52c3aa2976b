import Configuration
import Engine
import Glibc
import Ingest
import PipelineModel
import Records

/// `work` until a signal, or until there is nothing to do: goes on when a database that was away is back.
package struct WorkLoop {
  private let report: RunReport
  private let signals: SignalHandler
  private let start = ContinuousClock.now

  package init(output: any SessionOutput, signals: SignalHandler = .shared) {
    report = RunReport(output)
    self.signals = signals
  }

  /// - Throws: what ends the work. A database that can't be reached does so only at the begin.
  package func run(_ search: ConfigurationSearch, untilIdle: Bool) throws -> WorkResult {
    let setup = try LibrarySetup(search)
    guard setup.layout.database != nil else { throw setup.noServer("work") }
    var session = try WorkSession(setup, report: report, signals: signals) as WorkSession?
    let endProgress = report.output.show(.watch, of: report)
    defer { endProgress() }
    var pause = Duration.zero
    while !signals.isStopRequested {
      do {
        let now = try session ?? WorkSession(setup, report: report, signals: signals)
        session = nil
        guard try now.run(untilIdle: untilIdle) else { break }
        pause = .zero
      } catch let error where Self.isOvertaken(error) {
        // Nothing that the former session knew is used again.
        report.output.survived(error)
        report.output.message("The work begins anew.")
        wait(.seconds(1))
      } catch let error where Self.isAway(error) {
        if pause == .zero {
          report.output.survived(error)
          report.output.message("The work goes on when the database is back.")
        }
        pause = min(max(pause * 2, .seconds(1)), .seconds(30))
        wait(pause)
      }
    }
    return WorkResult(counts: report.counts, took: ContinuousClock.now - start)
  }

  private func wait(_ pause: Duration) {
    let end = ContinuousClock.now + pause
    while ContinuousClock.now < end, !signals.isStopRequested { usleep(100_000) }
  }

  /// Whether an error says that the database can't be reached.
  private static func isAway(_ error: any Error) -> Bool {
    cause(of: error)?.code == .unreachable
  }

  /// Whether an error says that the database has lost what this process knows.
  private static func isOvertaken(_ error: any Error) -> Bool {
    cause(of: error)?.code == .locked
  }

  private static func cause(of error: any Error) -> CatalogError? {
    (error as? EngineError)?.cause.flatMap(cause) ?? error as? CatalogError
  }
}

/// What a process did that worked beside the one with the library's lock.
package struct WorkResult: Sendable {
  package let counts: RunCounts
  package let took: Duration
}
