import Configuration
import Engine
import Glibc
import Ingest
import PipelineModel
import Records

/// `work` until a signal, or until there is nothing to do: session after session, as the configuration changes, and as
/// a database that was away is back.
package struct WorkLoop {
  private let report: RunReport
  private let signals: SignalHandler
  private let start = ContinuousClock.now

  package init(output: any SessionOutput, signals: SignalHandler = .shared) {
    report = RunReport(output)
    self.signals = signals
  }

  /// - Throws: what ends the work. While the database can't be reached, it waits.
  package func run(_ search: ConfigurationSearch, untilIdle: Bool) throws -> WorkResult {
    var setup = try LibrarySetup(search)
    guard setup.layout.database != nil else { throw setup.noServer("work") }
    let endProgress = report.output.show(.work, of: report)
    defer { endProgress() }
    var absence = DatabaseAbsence()
    var hasBegun = false
    var isDrained = false
    var told: WorkBeginning?
    while !signals.isStopRequested {
      if signals.consumeReload() { setup = reloaded(search, former: setup) }
      do {
        let session = try WorkSession(setup, report: report, signals: signals)
        hasBegun = true
        let start = ContinuousClock.now
        defer { absence.end(ofSessionSince: start) }
        let beginning = WorkBeginning(setup)
        if beginning != told { report.output.began(beginning) }
        told = beginning
        let outcome = try session.run(untilIdle: untilIdle)
        isDrained = outcome == .drained
        if outcome != .another { break }
      } catch let error where DatabaseAbsence.isOvertaken(error) && hasBegun {
        // Nothing that the former session knew is used again.
        report.output.survived(error)
        report.output.message("The work begins anew.")
        wait(.seconds(1))
      } catch let error where DatabaseAbsence.isAway(error, hasBegun: hasBegun) {
        // Whoever begins has to see what is wrong with a password or a name.
        if !hasBegun, DatabaseAbsence.cause(of: error)?.isRefusal == true { throw error }
        if absence.isNews(DatabaseAbsence.cause(of: error)) {
          report.output.survived(error)
          report.output.message(
            hasBegun
              ? "The work goes on when the database is back."
              : "The work begins when the database can be reached.")
        }
        wait(absence.nextPause())
      }
    }
    return WorkResult(
      counts: report.counts, took: ContinuousClock.now - start, isDrained: isDrained)
  }

  /// The new configuration; the former one if the new one is not usable.
  private func reloaded(_ search: ConfigurationSearch, former: LibrarySetup) -> LibrarySetup {
    do {
      let new = try LibrarySetup(search)
      guard new.layout.root == former.layout.root,
        new.layout.catalogPlace == former.layout.catalogPlace
      else {
        throw SessionError(
          .otherLibrary,
          "The configuration now names another library or catalog; that requires a restart.")
      }
      return new
    } catch {
      report.output.survived(error)
      report.output.message("The old configuration stays in use.")
      return former
    }
  }

  private func wait(_ pause: Duration) {
    let end = ContinuousClock.now + pause
    while ContinuousClock.now < end, !signals.isStopRequested { usleep(100_000) }
  }
}

/// What a process did that worked beside the one with the library's lock.
package struct WorkResult: Sendable {
  package let counts: RunCounts
  package let took: Duration
  /// Whether it ended because it was asked to by `nodes drain`.
  package let isDrained: Bool
}
