import Catalog
import Configuration
package import Ingest
package import PipelineModel

/// A change to a library that a verb requests.
///
/// The process that holds the lock performs it: the verb's own, or another one
/// that receives the request over the control socket.
package enum LibraryRequest: Codable, Hashable, Sendable {
  /// Imports files and folders; the paths are absolute.
  case importPaths([BytePath])
  /// Makes failed jobs ready again; those of all assets if `nil`.
  case retry(assets: [AssetID]?)
  case trash([AssetID])
  case restore([AssetID])
  /// Adds to what users say about assets.
  case annotate([AssetID], with: [Annotation])
  /// Deletes for good what was trashed before a time, in microseconds since 1970; all if `nil`.
  case emptyTrash(before: Int64?)
  /// Returns the imports of a run to their sources.
  case undo(run: AssetID)
  /// Removes what nothing refers to.
  case gc
  /// Gives a query a name, or takes the name away if the query is `nil`.
  case saveSearch(name: String, query: String?)
  /// Repairs what `verify` found.
  case repair([VerificationProblem])
  /// Releases the library for work that requires it to be closed.
  case letGo
}

/// The result of a request.
package struct RequestResult: Codable, Hashable, Sendable {
  /// The members of the verb's last JSON event.
  package var members: [String: JSONValue]
  /// The run that the request began, to be ended with its counters.
  var run: AssetID?

  init(members: [String: JSONValue], run: AssetID? = nil) {
    self.members = members
    self.run = run
  }

  fileprivate init(_ counts: [String: Int]) {
    self.init(members: counts.mapValues { .integer($0) })
  }

  /// An integer member; 0 if there is none.
  package func count(_ name: String) -> Int { members[name]?.integer ?? 0 }
}

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
  ///   - report: receives the events of paths.
  ///   - isStopped: whether to skip the rest.
  func perform(
    _ request: LibraryRequest, report: any IngestReport, isStopped: @escaping @Sendable () -> Bool
  ) throws -> RequestResult {
    let library = session.library
    let trash = Trash(library: library, report: report)
    switch request {
    case .importPaths(let paths):
      return try importPaths(paths, report: report, isStopped: isStopped)
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
    case .emptyTrash(let time):
      return RequestResult(
        try trash.empty(before: Timestamp(microseconds: time ?? .max), isStopped: isStopped))
    case .undo(let run):
      return RequestResult(
        try Undo(library: library, report: report).undo(run, isStopped: isStopped))
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
