import Catalog
import Configuration
import Engine
import Ingest
import PipelineModel

/// Does what a request asks for, on the thread that takes files.
struct LibraryWork {
  let session: WorkingSession

  init(_ session: WorkingSession) { self.session = session }

  /// Does it.
  ///
  /// - Parameters:
  ///   - report: hears what becomes of paths.
  ///   - isStopped: whether to leave the rest.
  func perform(
    _ request: LibraryRequest, report: any IngestReport, isStopped: @escaping @Sendable () -> Bool
  ) throws -> RequestResult {
    switch request {
    case .importPaths(let paths):
      return try importPaths(paths, report: report, isStopped: isStopped)
    case .retry(let assets):
      let count = try session.library.catalog.retry(assets: assets)
      session.engine.wake()
      return RequestResult(members: ["jobs": .integer(count)])
    }
  }

  /// Copies in as a run of its own, beside the one that is under way.
  private func importPaths(
    _ paths: [BytePath], report: any IngestReport, isStopped: @escaping @Sendable () -> Bool
  ) throws -> RequestResult {
    let library = session.library
    let own = library.ids.next()
    let outer = library.run
    library.run = own
    defer { library.run = outer }
    try library.catalog.beginRun(RunRecord(id: own, verb: "import", startedAt: .now))
    try Ingest(into: library, report: report, isStopped: isStopped)
      .copyIn(paths, sources: session.surroundings.configuration.sources)
    return RequestResult(members: [:], run: own)
  }
}
