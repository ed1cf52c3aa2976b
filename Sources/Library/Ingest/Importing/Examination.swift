import Files
import Glibc
import Manifest
import PipelineModel
import Records

/// Examines a candidate: opened once, never through a link, and complete.
struct Examination {
  let source: IngestSource
  let ids: AssetIDGenerator
  var isStopped: @Sendable () -> Bool = { false }

  /// Opens a candidate and decides whether it may be imported; hashes it if it may be unchanged.
  func examine(_ candidate: Candidate) -> StepResult<ImportAttempt> {
    do throws(FileError) {
      let folder = try source.folder.openParent(of: candidate.path)
      let name = candidate.path.lastComponent
      let file = try Descriptor.open(
        name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
      let status = try file.status()
      guard status.kind == .regular else {
        return .ended(.ignored, reason: "It is no longer a regular file.")
      }
      let (lease, obstacle) = Completeness.judge(
        file, status, found: candidate.identity, isExact: candidate.mustBeQuiet)
      if let obstacle { return .ended(obstacle.state, reason: obstacle.reason) }
      var attempt = ImportAttempt(
        id: ids.next(), candidate: candidate, folder: folder, name: name, file: file,
        status: status, lease: lease)
      if candidate.mayBeUnchanged {
        attempt.digest = try file.hash(expecting: status.identity.size, isStopped: isStopped).digest
        guard try file.status().identity == status.identity else {
          return .ended(.settling, reason: "It changed while it was read.")
        }
        try file.seek(to: 0)
      }
      // Only a rename needs the lease any longer; a copy is compared afterwards.
      if !source.takesByRename { file.releaseLease() }
      return .next(attempt)
    } catch let error where error.code == .notFound {
      return .ended(.gone, reason: "The file vanished before it could be imported.")
    } catch let error where error.code == .link {
      return .ended(.ignored, reason: "It is a symbolic link now.")
    } catch let error where error.code == .stopped {
      return .ended(.settling, reason: error.message)
    } catch {
      return .ended(.failed, reason: error.message)
    }
  }
}

/// A complete file about to be imported, open and examined.
struct ImportAttempt: Sendable {
  let id: AssetID
  let candidate: Candidate
  /// The file's folder, and its name there.
  let folder: Descriptor
  let name: BytePath
  /// The file itself, open for reading from examination to end.
  let file: Descriptor
  let status: FileStatus
  /// What is known of other writers.
  let lease: Descriptor.Lease
  /// The SHA-256 of the file, if it was read to compare it with what is known.
  var digest: Digest?

  /// Whether a read lease is held on `file` until the bytes are safe.
  var isLeased: Bool { lease == .granted && file.holdsLease }

  func intent(source: IngestSource, run: AssetID?) -> ManifestFact.Intent {
    ManifestFact.Intent(
      taking: id, source: source.recorded, path: candidate.path, identity: status.identity,
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

/// The names of an import's files in `incoming/`, which say what each file is.
///
/// Unlike an inode number or a time, a name survives a backup. So after a kill, the name decides
/// whether a file may be the only copy.
struct IncomingNames: Hashable, Sendable {
  let taking: AssetID

  /// The source itself, renamed; it is no longer in its folder.
  var itself: BytePath { BytePath(taking.description) }
  /// A copy of the source, which is still in its folder.
  var copy: BytePath { BytePath("\(taking).part") }
  /// Another copy of either, made when a flush failed or an original was damaged.
  var second: BytePath { BytePath("\(taking).copy") }
}
