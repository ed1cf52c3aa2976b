package import Configuration
import Files
import Glibc
package import PipelineModel

/// Imports complete files from sources, once.
package struct Ingest {
  private let library: IngestLibrary
  private let report: any IngestReport
  /// The thread's other work, between groups.
  private let interleaved: InterleavedWork
  /// Whether the user asked to stop; called between groups.
  private let isStopped: @Sendable () -> Bool
  /// Transactions per run for what an older version left: about 100,000 rows.
  private static let tidyingTransactions = 25

  package init(
    into library: IngestLibrary, report: any IngestReport, interleaved: InterleavedWork = .none,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.library = library
    self.report = report
    self.interleaved = interleaved
    self.isStopped = isStopped
  }

  /// Imports everything complete in the sources; waits once, at most for the longest settle window,
  /// for fresh files.
  ///
  /// - Returns: why sources were skipped; or, last and of code `noSpace`, why nothing more could be
  ///   imported.
  package func importSources(_ sources: [SourceConfiguration]) throws(IngestError) -> [IngestError]
  {
    var refused: [IngestError] = []
    do throws(IngestError) {
      try MountGuard(library: library).forget(allBut: sources)
      try importSources(sources, refused: &refused)
      try tidy()
    } catch let error where error.code == .noSpace {
      refused.append(error)
    }
    return refused
  }

  private func importSources(
    _ sources: [SourceConfiguration], refused: inout [IngestError]
  ) throws(IngestError) {
    var visits: [SourceVisit] = []
    for configuration in sources {
      do throws(IngestError) {
        let visit = try SourceVisit(
          configuration, library: library, report: report, interleaved: interleaved,
          isStopped: isStopped)
        try visit.scan(isStopped: isStopped)
        if let refusal = visit.refusal { refused.append(refusal) }
        visits.append(visit)
      } catch let error where error.code == .source {
        refused.append(error)
      }
    }
    for visit in visits.sorted(by: { $0.settledAt < $1.settledAt }) {
      try visit.importSettled(isStopped: isStopped)
    }
  }

  private func tidy() throws(IngestError) {
    for _ in 0..<Self.tidyingTransactions where !isStopped() {
      guard try library.removeImpliedSightings() else { return }
      if interleaved.isDue() { try interleaved.run() }
    }
  }

  /// Copies files and folders in from anywhere, without waiting.
  ///
  /// - Parameter paths: absolute; links in parent folders are followed, a path that is itself a
  ///   link is not.
  package func copyIn(
    _ paths: [BytePath], sources: [SourceConfiguration]
  ) throws(IngestError) {
    for path in paths {
      if isStopped() { return }
      let visit = try ImportVisit(
        path, sources: sources, library: library, report: report, isStopped: isStopped)
      try visit?.run(isStopped: isStopped)
      if interleaved.isDue() { try interleaved.run() }
    }
  }
}
