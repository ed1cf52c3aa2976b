package import Ingest
package import PipelineModel

/// A change to a library that a verb or another program requests.
///
/// The process that holds the lock performs it: the requester's own, or another one
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
  /// Makes several changes of assets, all or none.
  case edit([AssetEdit])
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
  /// Records what another machine has imported.
  case record(RemoteImport)
  /// Releases the library for work that requires it to be closed.
  case letGo

  /// Whether either all of it or nothing is done.
  package var isTransaction: Bool {
    if case .edit = self { true } else { false }
  }

  /// Whether it may be performed once more, later, if nobody knows what became of it.
  package var isRepeatable: Bool {
    if case .record = self { true } else { false }
  }

  /// Whether another machine may ask for it: it needs nothing of that machine.
  package var isForOtherMachines: Bool {
    switch self {
    case .retry, .trash, .restore, .annotate, .emptyTrash, .gc, .record: true
    case .importPaths, .edit, .undo, .saveSearch, .repair, .letGo: false
    }
  }
}

/// The result of a request.
package struct RequestResult: Codable, Hashable, Sendable {
  /// The members of the verb's last JSON event.
  package var members: [String: JSONValue]
  /// The run that the request began, to be ended with its counters.
  package var run: AssetID?

  package init(members: [String: JSONValue], run: AssetID? = nil) {
    self.members = members
    self.run = run
  }

  package init(_ counts: [String: Int]) {
    self.init(members: counts.mapValues { .integer($0) })
  }

  /// The member with the outcome of `record`.
  package static let outcome = "outcome"

  /// An integer member; 0 if there is none.
  package func count(_ name: String) -> Int { members[name]?.integer ?? 0 }
}
