import Catalog
import Configuration
import Engine
package import Ingest
package import LibraryControl
import PipelineModel
import Records

extension RequestResult {
  package init(_ emptied: TrashEmptied) {
    self.init(["assets": emptied.assets, "bytes": emptied.bytes])
  }

  init(_ undone: UndoResult) {
    self.init(["returned": undone.returned, "left": undone.left, "failed": undone.failed])
  }

  package init(_ garbage: Garbage) {
    self.init([
      "originals": garbage.originals, "originalBytes": garbage.originalBytes,
      "renditions": garbage.renditions, "renditionBytes": garbage.renditionBytes,
      "files": garbage.files, "fileBytes": garbage.fileBytes, "bytes": garbage.bytes,
    ])
  }

  package init(_ repair: RepairResult) {
    self.init(["repaired": repair.repaired, "setAside": repair.setAside])
  }
}

/// Performs requests on the main thread.
struct RequestHandler {
  let session: WorkingSession
  /// Makes the holder release the library briefly; `nil` if it can't.
  private let letGo: (() -> Void)?

  init(_ session: WorkingSession, letGo: (() -> Void)? = nil) {
    self.session = session
    self.letGo = letGo
  }

  /// - Parameters:
  ///   - other: what another machine asked by the database.
  ///   - report: receives the events of paths.
  ///   - isStopped: whether to skip the rest.
  func perform(
    _ request: LibraryRequest, from other: RemoteRequest? = nil, report: any IngestReport,
    isStopped: @escaping @Sendable () -> Bool
  ) throws -> RequestResult {
    if case .importPaths(let paths) = request {
      return try importPaths(paths, report: report, isStopped: isStopped)
    }
    if case .undo(let run) = request {
      let undo = Undo(
        library: session.library, sources: session.setup.configuration.sources, report: report)
      return RequestResult(try undo.undo(run, isStopped: isStopped))
    }
    guard let library = session.own else {
      return try RemoteLibrary(catalog: session.library.catalog, isStopped: isStopped).ask(request)
    }
    let trash = Trash(library: library, report: report)
    switch request {
    case .importPaths, .undo: return RequestResult(members: [:])
    case .record(let imports):
      guard let other else { throw library.lockedError }
      let outcome = try RemoteImportRecording(library, for: other).record(imports)
      session.engine.wake()
      return RequestResult(members: [RequestResult.outcome: .string(outcome.rawValue)])
    case .retry(let assets):
      // A holder wakes its engine after serving the request. A short-lived process starts no job,
      // because its exit would interrupt it.
      return RequestResult(["jobs": try library.catalog.retry(assets: assets)])
    case .trash(let assets):
      return RequestResult(["assets": try trash.trash(assets)])
    case .restore(let assets):
      return RequestResult(["assets": try trash.restore(assets)])
    case .annotate(let assets, let annotations):
      return RequestResult([
        "assets": try AssetAnnotations(library: library).add(
          annotations, to: assets, isStopped: isStopped)
      ])
    case .edit(let edits):
      let result = try AssetEdits(library: library, report: report).perform(edits)
      return RequestResult(["assets": result.assets, "jobs": result.jobs])
    case .emptyTrash(let time):
      return RequestResult(
        try trash.empty(before: Timestamp(microseconds: time ?? .max), isStopped: isStopped))
    case .gc:
      return RequestResult(
        try GarbageCollection(library: library, report: report).run(isStopped: isStopped))
    case .saveSearch(let name, let query):
      let isReplaced = try SavedSearches.save(name, query, in: library)
      return RequestResult(members: ["replaced": .bool(isReplaced)])
    case .repair(let problems):
      return RequestResult(
        try Repair(library: library, report: report).repair(problems, isStopped: isStopped))
    case .letGo:
      guard let letGo else { throw library.lockedError }
      letGo()
      return RequestResult(members: [:])
    }
  }

  /// The code by which a program, unlike a verb, tells the errors of a transaction apart; `nil` for others.
  func code(of error: any Error, _ request: LibraryRequest) -> String? {
    guard request.isTransaction else { return nil }
    // If even that can't be read, nothing is known: the next opening finds what is in the journal.
    if (try? isBehind()) ?? true { return RequestFailure.unfinished }
    return (error as? CatalogError)?.code == .noAsset ? RequestFailure.noAsset : nil
  }

  /// Whether the manifest has facts that the catalog lacks.
  func isBehind() throws -> Bool { try session.own?.isBehind() ?? false }

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
