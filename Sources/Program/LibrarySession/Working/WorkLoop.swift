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
    var absence = Absence()
    var hasBegun = false
    var isDrained = false
    var told: WorkBeginning?
    while !signals.isStopRequested {
      if signals.consumeReload() { setup = reloaded(search, former: setup) }
      do {
        let session = try WorkSession(setup, report: report, signals: signals)
        (absence, hasBegun) = (Absence(), true)
        let beginning = WorkBeginning(setup)
        if beginning != told { report.output.began(beginning) }
        told = beginning
        let outcome = try session.run(untilIdle: untilIdle)
        isDrained = outcome == .drained
        if outcome != .another { break }
      } catch let error where Self.isOvertaken(error) && hasBegun {
        // Nothing that the former session knew is used again.
        report.output.survived(error)
        report.output.message("The work begins anew.")
        wait(.seconds(1))
      } catch let error where Self.isAway(error) {
        // Whoever begins has to see what is wrong with a password or a name.
        if !hasBegun, Self.cause(of: error)?.isRefusal == true { throw error }
        if absence.isNews(Self.cause(of: error)) {
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

  /// The time in which the database can't be reached.
  private struct Absence {
    private var pause = Duration.zero
    /// Why its server refuses this process, as last told.
    private var refusal: String?

    /// Whether to tell why it can't be reached: at first, and if the server refuses this process for another reason.
    mutating func isNews(_ error: CatalogError?) -> Bool {
      let isFirst = pause == .zero
      guard let error, error.isRefusal, error.message != refusal else { return isFirst }
      refusal = error.message
      return true
    }

    /// How long to wait before the next try, longer each time.
    mutating func nextPause() -> Duration {
      pause = min(max(pause * 2, .seconds(1)), .seconds(30))
      return pause
    }
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
  /// Whether it ended because it was asked to by `nodes drain`.
  package let isDrained: Bool
}
