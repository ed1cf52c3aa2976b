import Catalog
import Files
import Manifest
import PipelineModel

/// A complete file about to be imported, open and examined.
struct ImportAttempt: Sendable {
  let id: AssetID
  let candidate: Candidate
  /// The file's folder, and its name there.
  let folder: Descriptor
  let name: BytePath
  /// The file itself, open for reading from examination to end.
  let file: Descriptor
  /// The file's status when it was opened.
  let status: FileStatus
  /// What is known of other writers.
  let lease: Descriptor.Lease
  /// The SHA-256 of the file, if it was read to compare it with what is known.
  var digest: Digest?

  /// Whether a read lease is held on `file` until the bytes are safe.
  var isLeased: Bool { lease == .granted && file.holdsLease }

  func intent(source: IngestSource, run: AssetID?) -> ManifestFact.Intent {
    ManifestFact.Intent(
      taking: id, source: source.root, path: candidate.path, identity: status.identity,
      permissions: status.permissions, moves: source.moves, run: run)
  }

  var incoming: IncomingNames { IncomingNames(taking: id) }
}

/// How examining a candidate, or an attempt to import it, ended.
enum StepResult<Value: Sendable>: Sendable {
  case next(Value)
  case ended(Sighting.State, reason: String)
  /// The file is in `incoming/` and could not be put back: its intent stays open, and the next
  /// start deals with it.
  case stranded(reason: String)
}
