import Ingest
import PipelineModel

/// A change to a library that a verb asks for.
///
/// It is made by whoever holds the library: by the verb's own process, or by
/// the one that holds the lock, which hears of it over the control socket.
enum LibraryRequest: Codable, Hashable, Sendable {
  /// Files and folders to copy in, as absolute paths.
  case importPaths([BytePath])
  /// Failed jobs to make ready again; those of all assets if `nil`.
  case retry(assets: [AssetID]?)
  /// Assets to put into the trash.
  case trash([AssetID])
  /// Assets to bring back from the trash.
  case restore([AssetID])
  /// What was put into the trash before a time, in microseconds since 1970, to be deleted for good;
  /// all if `nil`.
  case emptyTrash(before: Int64?)
  /// A run whose imports are to be given back.
  case undo(run: AssetID)
  /// What nothing needs any more, to be removed.
  case gc
  /// What `verify` found, to be made good.
  case repair([VerificationProblem])
  /// The library itself, for something that can't be done while it is open.
  case letGo
}
