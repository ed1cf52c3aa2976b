import Dispatch
import Files
import Manifest
import ObjectStorage
import PipelineModel
import Synchronization

/// Copies of the manifest beside the originals in a bucket, `manifest/0001.jsonl` …: with them a library whose machine is
/// lost is made again from the bucket.
///
/// While a library is open, what was added is copied twice a minute, and once more at the end. A segment is sent as a
/// whole, up to its last durable fact; none is replaced by one that lacks something of it.
final class ManifestCopies: Sendable {
  private let manifest: Manifest
  private let comparison: ManifestComparison
  /// Whether the library has no original yet, so that the place in the bucket may still be nobody's.
  private let isNew: Bool
  private let bucket: OwnedBucket
  private let note: @Sendable (_ copied: Int64, _ seen: Int64?) throws -> Void
  private let end: CopyDeadline
  private let queue = DispatchQueue(label: "pipeline.manifest-copies")
  private let state: Mutex<State>

  private struct State {
    /// The last fact that is known to be copied.
    var copied: Int64
    /// What the user should know.
    var warning: String?
    /// Whether the last attempt failed, and that was said.
    var hasFailed = false
    var isEnded = false
    /// Whether the copies have facts that the manifest lacks, so that nothing may be copied.
    var isRefused = false
  }

  private static let interval = 30.0
  /// The folder below the location's prefix.
  static let folder = "manifest/"

  /// - Parameters:
  ///   - location: where originals are.
  ///   - identity: of the library, its UUID.
  ///   - isNew: whether the library has no original yet.
  ///   - copied: the last fact that was copied before.
  ///   - isStopped: called several times a second; ends a transfer when it returns true.
  ///   - note: called with the last fact that has been copied, and the last one that was seen to be in the bucket.
  init(
    of manifest: Manifest, to location: BucketLocation, identity: String, isNew: Bool,
    copied: Int64,
    isStopped: @escaping @Sendable () -> Bool,
    note: @escaping @Sendable (_ copied: Int64, _ seen: Int64?) throws -> Void
  ) {
    self.manifest = manifest
    self.note = note
    self.isNew = isNew
    let end = CopyDeadline()
    self.end = end
    bucket = OwnedBucket(
      location, for: "originals", identity: identity, mayClaim: false,
      environment: CurrentProcess.environment(S3Client.variables)
    ) {
      // At the end there is a little time, whatever was asked.
      end.isOver ?? (isStopped() || CurrentProcess.isAskedToEnd.load(ordering: .relaxed))
    }
    comparison = ManifestComparison(manifest: manifest, bucket: bucket, identity: identity)
    state = Mutex(State(copied: copied))
    schedule()
  }

  /// Copies after a while, and from then on.
  private func schedule() {
    queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
      guard let self, !state.withLock({ $0.isEnded }) else { return }
      copy()
      schedule()
    }
  }

  /// Copies what is left, as far as there is time, and ends. The next process goes on.
  func finish(within time: Duration) {
    end.set(.now + time)
    queue.sync {
      copy()
      state.withLock { $0.isEnded = true }
    }
  }

  /// Returns what the user should know, once; `nil` if there is nothing.
  func takeWarning() -> String? {
    state.withLock { state in
      defer { state.warning = nil }
      return state.warning
    }
  }

  /// On the queue.
  private func copy() {
    let isDue = state.withLock { !$0.isRefused && $0.copied != manifest.lastSequence }
    guard isDue else { return }
    do {
      try copyDifferences()
      state.withLock { $0.hasFailed = false }
    } catch let error as FileError where error.code == .stopped {
      return
    } catch let refusal as IngestError {
      state.withLock { state in
        state.isRefused = true
        state.warning = refusal.message
      }
    } catch {
      state.withLock { state in
        if !state.hasFailed {
          state.warning =
            "The manifest can't be copied to “\(bucket.path(Self.folder).printable)”; that is tried again. \(error)"
        }
        state.hasFailed = true
      }
    }
  }

  private func copyDifferences() throws {
    if isNew, state.withLock({ $0.copied == 0 }), try bucket.owner() == nil { return }
    try bucket.requireOwn()
    // Each time: a request without an answer may be performed after the next one, and leave less than that.
    let sizes = try comparison.sizes()
    // A process that lost the library's lock, as while it was suspended, is refused here.
    try note(state.withLock { $0.copied }, comparison.lastFact(of: sizes))
    let sequence = try comparison.complete(sizes)
    // A late request may still undo this, so it is seen with the next copy.
    try note(sequence, nil)
    state.withLock { $0.copied = sequence }
  }
}

/// When transfers end, once that is set.
private final class CopyDeadline: Sendable {
  private let moment = Mutex<ContinuousClock.Instant?>(nil)

  /// `nil` while it is not set.
  var isOver: Bool? { moment.withLock { $0.map { $0 < .now } } }

  func set(_ end: ContinuousClock.Instant) { moment.withLock { $0 = end } }
}
