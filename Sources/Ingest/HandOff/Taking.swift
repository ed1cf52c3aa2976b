import Catalog
import Files
import Manifest
import PipelineModel

/// A complete file that is about to be taken, open and examined.
struct Taking: Sendable {
  /// The name of the taking.
  let id: AssetID
  let candidate: Candidate
  /// The folder that the file is in, and its name there.
  let folder: Descriptor
  let name: BytePath
  /// The file itself, open for reading from look to end.
  let file: Descriptor
  /// The file as it was when it was opened.
  let status: FileStatus
  /// What is known of others who write to the file.
  let lease: Descriptor.Lease
  /// The SHA-256 of the file, where it was read to be compared with what is known.
  var digest: Digest?

  /// Whether a read lease is held on `file` until the bytes are safe.
  var isLeased: Bool { lease == .granted && file.holdsLease }

  func intent(source: IngestSource, run: AssetID?) -> ManifestFact.Intent {
    ManifestFact.Intent(
      taking: id, source: source.root, path: candidate.path, identity: status.identity,
      permissions: status.permissions, moves: source.moves, run: run)
  }

  /// The names of its files in `incoming/`.
  var incoming: IncomingNames { IncomingNames(taking: id) }
}

/// How a look at a candidate, or an attempt to take it, ended.
enum Step<Value: Sendable>: Sendable {
  case next(Value)
  case ended(Sighting.State, reason: String)
  /// The file is in `incoming/` and could not be put back: its intent stays
  /// open, and the next start takes care of it.
  case stranded(reason: String)
}
