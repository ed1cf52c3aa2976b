import Dispatch
import Files
import Hashing
import Manifest
import ObjectStorage
import PipelineModel
import Synchronization

/// Copies of the manifest beside the originals in a bucket, `manifest/0001.jsonl` …: with them a library whose machine is
/// lost is made again from the bucket.
///
/// While a library is open, what was added is copied twice a minute, and once more at the end. A segment is sent as a
/// whole, up to its last durable fact; none is replaced by a shorter one.
final class ManifestCopies: Sendable {
  private let manifest: Manifest
  private let bucket: OwnedBucket
  private let note: @Sendable (Int64) throws -> Void
  private let queue = DispatchQueue(label: "pipeline.manifest-copies")
  private let state: Mutex<State>

  private struct State {
    /// The last fact that is known to be copied.
    var copied: Int64
    /// The sizes of the copies by name, once they were listed.
    var sizes: [String: Int]?
    /// What the user should know.
    var warning: String?
    /// Whether the last attempt failed, and that was said.
    var hasFailed = false
    var isEnded = false
    /// Whether the copies are longer than the manifest, so that nothing may be copied.
    var isOlder = false
  }

  private static let interval = 30.0
  /// The folder below the location's prefix.
  static let folder = "manifest/"

  /// - Parameters:
  ///   - copied: the last fact that was copied before.
  ///   - note: called with the last fact that has been copied.
  init(
    of manifest: Manifest, to bucket: OwnedBucket, copied: Int64,
    note: @escaping @Sendable (Int64) throws -> Void
  ) {
    self.manifest = manifest
    self.bucket = bucket
    self.note = note
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

  /// Copies what is left, unless the user asks to stop, and ends.
  func finish() {
    queue.sync {
      copy()
      state.withLock { $0.isEnded = true }
    }
  }

  /// Takes what the user should know, if there is anything.
  func takeWarning() -> String? {
    state.withLock { state in
      defer { state.warning = nil }
      return state.warning
    }
  }

  /// On the queue.
  private func copy() {
    let isDue = state.withLock { !$0.isOlder && $0.copied != manifest.lastSequence }
    guard isDue else { return }
    do {
      try copyDifferences()
      state.withLock { $0.hasFailed = false }
    } catch let error as FileError where error.code == .stopped {
      return
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
    try bucket.requireOwn()
    let (sequence, segments) = try manifest.segments()
    var sizes = try state.withLock { $0.sizes } ?? list()
    let own = Dictionary(uniqueKeysWithValues: segments.map { ($0.name.description, $0.bytes) })
    if let longer = sizes.first(where: { $0.value > own[$0.key] ?? 0 }) {
      return refuse(longer.key)
    }
    for segment in segments where sizes[segment.name.description] != segment.bytes {
      let bytes = try manifest.read(segment)
      _ = try bucket.client().put(
        .bytes(bytes), as: "\(Self.folder)\(segment.name)", digest: SHA256.digest(of: bytes),
        isNew: false)
      sizes[segment.name.description] = segment.bytes
    }
    let now = sizes
    state.withLock { state in
      state.sizes = now
      state.copied = sequence
    }
    try note(sequence)
  }

  private func refuse(_ name: String) {
    state.withLock { state in
      state.isOlder = true
      state.warning =
        "“\(bucket.path("\(Self.folder)\(name)").printable)” has more facts than this library's manifest, as after an "
        + "older backup was put back. Nothing is copied over it. `pipeline restore-library` makes a library of what the "
        + "bucket has, in a new folder; to keep this one instead, move “\(bucket.path(Self.folder).printable)” away."
    }
  }

  private func list() throws(FileError) -> [String: Int] {
    try Self.list(in: bucket)
  }

  /// Returns the sizes of the copies in a bucket by name.
  static func list(in bucket: OwnedBucket) throws(FileError) -> [String: Int] {
    var sizes: [String: Int] = [:]
    try bucket.client().list(folder) { entry throws(FileError) in
      let name = String(entry.key.dropFirst(folder.count))
      if Manifest.isSegment(BytePath(name)) { sizes[name] = entry.size }
    }
    return sizes
  }
}
