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
}
