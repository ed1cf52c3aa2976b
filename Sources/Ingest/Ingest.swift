package import Configuration
import Files
import Glibc
package import PipelineModel

/// Takes what is complete in sources, once.
package struct Ingest {
  private let library: IngestLibrary
  private let report: any IngestReport
  /// What else the thread has to do, between groups.
  private let interlude: Interlude
  /// Whether the user asked to stop; asked between groups.
  private let isStopped: @Sendable () -> Bool
  /// How many transactions a run gives to what an older version left: about 100,000 rows.
  private static let tidyingTransactions = 25

  package init(
    into library: IngestLibrary, report: any IngestReport, interlude: Interlude = .none,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.library = library
    self.report = report
    self.interlude = interlude
    self.isStopped = isStopped
  }

  /// Takes everything complete in the sources; waits once, at most for the
  /// longest settle window, for files that are fresh.
  ///
  /// - Returns: why sources could not be looked at, the others were; or why nothing more
  ///   could be taken, of code `noSpace`, which comes last.
  package func take(_ sources: [SourceConfiguration]) throws(IngestError) -> [IngestError] {
    var refused: [IngestError] = []
    do throws(IngestError) {
      try MountGuard(library: library).forget(allBut: sources)
      try take(sources, refused: &refused)
      try tidy()
    } catch let error where error.code == .noSpace {
      refused.append(error)
    }
    return refused
  }

  private func take(
    _ sources: [SourceConfiguration], refused: inout [IngestError]
  ) throws(IngestError) {
    var visits: [SourceVisit] = []
    for configuration in sources {
      do throws(IngestError) {
        let visit = try SourceVisit(
          configuration, library: library, report: report, interlude: interlude,
          isStopped: isStopped)
        try visit.scan(isStopped: isStopped)
        if let refusal = visit.refusal { refused.append(refusal) }
        visits.append(visit)
      } catch let error where error.code == .source {
        refused.append(error)
      }
    }
    for visit in visits.sorted(by: { $0.settledAt < $1.settledAt }) {
      try visit.takeSettled(isStopped: isStopped)
    }
  }

  private func tidy() throws(IngestError) {
    for _ in 0..<Self.tidyingTransactions where !isStopped() {
      guard try library.removeImpliedSightings() else { return }
      if interlude.isDue() { try interlude.run() }
    }
  }

  /// Copies files and folders in, wherever they are, without waiting.
  ///
  /// - Parameter paths: absolute; links in the folders above a path are followed,
  ///   a path that is a link itself is not.
  package func copyIn(
    _ paths: [BytePath], sources: [SourceConfiguration]
  ) throws(IngestError) {
    for path in paths {
      if isStopped() { return }
      let visit = try ImportVisit(
        path, sources: sources, library: library, report: report, isStopped: isStopped)
      try visit?.take(isStopped: isStopped)
      if interlude.isDue() { try interlude.run() }
    }
  }
}
