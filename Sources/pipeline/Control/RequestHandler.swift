import Catalog
import Configuration
import Engine
import Ingest
import PipelineModel

/// Performs requests on the ingest thread.
struct RequestHandler {
  let session: WorkingSession
  /// Makes the holder release the library briefly; `nil` if it can't.
  private let letGo: (() -> Void)?

  init(_ session: WorkingSession, letGo: (() -> Void)? = nil) {
    self.session = session
    self.letGo = letGo
  }

  /// - Parameters:
  ///   - report: receives the events of paths.
  ///   - isStopped: whether to skip the rest.
  func perform(
    _ request: LibraryRequest, report: any IngestReport, isStopped: @escaping @Sendable () -> Bool
  ) throws -> RequestResult {
    switch request {
    case .importPaths(let paths):
      return try importPaths(paths, report: report, isStopped: isStopped)
    case .retry(let assets):
      // A holder wakes its engine after serving the request. A short-lived process starts no job,
      // because its exit would interrupt it.
      let count = try session.library.catalog.retry(assets: assets)
      return RequestResult(members: ["jobs": .integer(count)])
    case .letGo:
      guard let letGo else { throw session.library.lockedError }
      letGo()
      return RequestResult(members: [:])
    case .trash, .restore, .emptyTrash, .undo, .gc, .repair:
      return try maintain(for: request, report: report, isStopped: isStopped)
    }
  }

  /// Performs requests on assets that are already in the library.
  private func maintain(
    for request: LibraryRequest, report: any IngestReport, isStopped: @escaping () -> Bool
  ) throws -> RequestResult {
    let library = session.library
    let trash = Trash(library: library, report: report)
    switch request {
    case .trash(let assets):
      return RequestResult(members: ["assets": .integer(try trash.trash(assets))])
    case .restore(let assets):
      return RequestResult(members: ["assets": .integer(try trash.restore(assets))])
    case .emptyTrash(let time):
      return RequestResult(
        try trash.empty(
          before: Timestamp(microseconds: time ?? .max), isStopped: isStopped))
    case .undo(let run):
      return RequestResult(
        try Undo(library: library, report: report).undo(run, isStopped: isStopped))
    case .gc:
      return RequestResult(
        try GarbageCollection(library: library, report: report).run(isStopped: isStopped))
    case .repair(let problems):
      return RequestResult(
        try Repair(library: library, report: report).repair(problems, isStopped: isStopped))
    case .importPaths, .retry, .letGo:
      return RequestResult(members: [:])
    }
  }

  /// Imports as a separate run, nested in the current one.
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
      .copyIn(paths, sources: session.setup.configuration.sources)
    return RequestResult(members: [:], run: own)
  }
}
