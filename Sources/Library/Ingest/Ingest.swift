package import Configuration
package import Files
import Glibc
package import PipelineModel

/// Imports complete files from sources, once.
package struct Ingest {
  private let library: ImportingLibrary
  private let report: any IngestReport
  /// The thread's other work, between groups.
  private let interleaved: InterleavedWork
  /// Whether the user asked to stop; called between groups.
  private let isStopped: @Sendable () -> Bool
  /// Transactions per run for what an older version left: about 100,000 rows.
  private static let tidyingTransactions = 25

  package init(
    into library: ImportingLibrary, report: any IngestReport, interleaved: InterleavedWork = .none,
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
  /// - Returns: why sources were skipped; or, last and of code `noSpace` or `store`, why nothing more
  ///   could be imported.
  package func importSources(_ sources: [SourceConfiguration]) throws -> [IngestError] {
    var refused: [IngestError] = []
    do {
      try MountGuard(library: library).forget(allBut: sources)
      try importSources(sources, refused: &refused)
      try tidy()
    } catch let error as IngestError where error.pausesImports {
      refused.append(error)
    }
    return refused
  }

  private func importSources(
    _ sources: [SourceConfiguration], refused: inout [IngestError]
  ) throws {
    var visits: [SourceVisit] = []
    for configuration in sources {
      do {
        let visit = try SourceVisit(
          configuration, library: library, report: report, interleaved: interleaved,
          isStopped: isStopped)
        try visit.scan(isStopped: isStopped)
        if let refusal = visit.refusal { refused.append(refusal) }
        visits.append(visit)
      } catch let error as IngestError where error.code == .source {
        refused.append(error)
      } catch let error as IngestError where error.code == .held {
        report.notice(error.message)
      }
    }
    for visit in visits.sorted(by: { $0.settledAt < $1.settledAt }) {
      do {
        try visit.importSettled(isStopped: isStopped)
      } catch let error as IngestError where error.code == .held {
        report.notice(error.message)
      }
    }
  }

  private func tidy() throws {
    while !isStopped(), try library.keepUp(report) {
      report.stillWorking()
      if interleaved.isDue() { try interleaved.run() }
    }
    for _ in 0..<Self.tidyingTransactions where !isStopped() {
      guard try library.removeImpliedSightings() else { return }
      if interleaved.isDue() { try interleaved.run() }
    }
  }

  /// Copies files and folders in from anywhere, without waiting.
  ///
  /// - Parameter paths: absolute; links in parent folders are followed, a path that is itself a
  ///   link is not.
  package func copyIn(_ paths: [BytePath], sources: [SourceConfiguration]) throws {
    for path in paths {
      if isStopped() { return }
      let visit = try ImportVisit(
        path, sources: sources, library: library, report: report, isStopped: isStopped)
      try visit?.run(isStopped: isStopped)
      if interleaved.isDue() { try interleaved.run() }
    }
  }
}

/// Other work of the main thread, done between two groups.
package struct InterleavedWork {
  /// Whether there is any; called after each group.
  let isDue: () -> Bool
  /// Does the work. All imports so far are recorded.
  ///
  /// Throws if nothing more may be imported until the library is recovered.
  let run: () throws -> Void

  package init(isDue: @escaping () -> Bool, run: @escaping () throws -> Void) {
    self.isDue = isDue
    self.run = run
  }

  package static var none: InterleavedWork { InterleavedWork(isDue: { false }, run: {}) }
}

/// Why files could not be imported at all, if this module found the reason. Errors of deeper modules
/// pass through it as they are.
package struct IngestError: Error, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// Another process holds the library.
    case locked
    /// The folder is not a library, or one that this program must not touch.
    case notALibrary
    /// A newer version of the program made the library.
    case newerVersion
    /// The catalog is ahead of the manifest, or of another history.
    case catalog
    /// A source is missing or not what it was.
    case source
    /// Another machine takes files from the source.
    case held
    /// Less space is free than is kept in reserve.
    case noSpace
    /// The store of originals can't be used for now.
    case store
    /// The library can't be written.
    case file
  }

  package var code: Code
  /// A sentence that includes the remedy.
  package var message: String
  package var path: BytePath?
  /// Why a source can't be read; `nil` for all other errors.
  package var cause: FileError?

  package init(_ code: Code, _ message: String, path: BytePath? = nil, cause: FileError? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// The error that the store of originals can't be used for now.
  static func storeAway(_ error: FileError) -> IngestError {
    IngestError(
      .store,
      "\(error.message) Nothing more is imported until it can be used, and the files stay in their sources.",
      path: error.path, cause: error)
  }

  package var description: String { message }

  /// Whether imports can go on by themselves later.
  package var pausesImports: Bool { code == .noSpace || code == .store }
}

extension Error {
  /// Whether the program was merely asked to stop.
  var isStopped: Bool { (self as? FileError)?.code == .stopped }
}
