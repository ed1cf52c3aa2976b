import Ingest
import PipelineModel

/// A change to a library that a verb requests.
///
/// The process that holds the lock performs it: the verb's own, or another one
/// that receives the request over the control socket.
enum LibraryRequest: Codable, Hashable, Sendable {
  /// Imports files and folders; the paths are absolute.
  case importPaths([BytePath])
  /// Makes failed jobs ready again; those of all assets if `nil`.
  case retry(assets: [AssetID]?)
  case trash([AssetID])
  case restore([AssetID])
  /// Deletes for good what was trashed before a time, in microseconds since 1970; all if `nil`.
  case emptyTrash(before: Int64?)
  /// Returns the imports of a run to their sources.
  case undo(run: AssetID)
  /// Removes what nothing refers to.
  case gc
  /// Repairs what `verify` found.
  case repair([VerificationProblem])
  /// Releases the library for work that requires it to be closed.
  case letGo
}
