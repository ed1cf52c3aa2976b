import Catalog
import Files
import Glibc
import PipelineModel

/// Examines a candidate: opened once, never through a link, and complete.
struct Examination {
  let source: IngestSource
  let ids: AssetIDGenerator
  var isStopped: @Sendable () -> Bool = { false }

  /// Opens a candidate and decides whether it may be imported.
  ///
  /// Hashes it if it may be unchanged.
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
      guard status.identity.isSameFile(as: candidate.identity) else {
        return .ended(.settling, reason: "It changed since the folder was read.")
      }
      if candidate.mustBeQuiet, status.identity != candidate.identity {
        return .ended(.settling, reason: "It changed during its settle window.")
      }
      let lease = file.acquireLease()
      // Also for an empty file: its writer may only have begun.
      if lease == .refused {
        return .ended(.settling, reason: "A process has it open for writing.")
      }
      guard status.identity.size > 0 else {
        return .ended(.rejected, reason: "The file is empty.")
      }
      guard !isMostlyHoles(status) else {
        return .ended(
          .rejected,
          reason: "Its size is \(ByteSize(bytes: status.identity.size)), but only "
            + "\(ByteSize(bytes: status.allocatedBytes)) of it are on disk.")
      }
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

  /// Whether a large file is almost all holes, which would take hours to read and, when copied,
  /// fill the disk. No file system compresses pictures sixteenfold.
  private func isMostlyHoles(_ status: FileStatus) -> Bool {
    status.identity.size >= 1 << 30 && status.allocatedBytes < status.identity.size / 16
  }
}
