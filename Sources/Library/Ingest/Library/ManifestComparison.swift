import Files
import Hashing
import Manifest
import ObjectStorage
import PipelineModel
import Synchronization

/// Compares a manifest with its copies in a bucket.
///
/// A copy has more after an older backup was put back, or where another machine has taken this one's place. What is
/// recorded then would be of another history.
struct ManifestComparison {
  let manifest: Manifest
  let bucket: OwnedBucket
  /// The library's UUID.
  let identity: String

  /// How much of a copy's end is compared: each line has its number and time.
  private static let tail = 4096

  /// Returns the sizes of the copies by name.
  ///
  /// - Throws: `IngestError` of code `catalog` if one has facts that the manifest lacks; `FileError` if the store can't
  ///   be asked.
  func sizes() throws -> [String: Int] {
    let sizes = try Self.sizes(in: bucket)
    let (_, segments) = try manifest.segments()
    let own = Dictionary(uniqueKeysWithValues: segments.map { ($0.name.description, $0.bytes) })
    if let longer = sizes.first(where: { $0.value > own[$0.key] ?? 0 }) {
      throw refusal(longer.key)
    }
    for segment in segments {
      guard let size = sizes[segment.name.description] else { continue }
      // Those before the last one were compared when it was begun.
      if size == segment.bytes, segment != segments.last { continue }
      let start = max(0, size - Self.tail)
      guard
        try manifest.read(segment).dropFirst(start).starts(with: copy(of: segment, start..<size))
      else { throw refusal(segment.name.description) }
    }
    return sizes
  }

  /// Returns the last fact that copies of some sizes have, without a gap; `nil` if that is not known.
  func lastFact(of sizes: [String: Int]) throws -> Int64? {
    let (sequence, segments) = try manifest.segments()
    let short = segments.first { sizes[$0.name.description] ?? 0 < $0.bytes }
    guard let last = short ?? segments.last, let size = sizes[last.name.description] else {
      return nil
    }
    // A last segment with a hole has lines that don't count.
    return try manifest.lastFact(in: last, upTo: size).map { min($0, sequence) }
  }

  /// Copies the segments whose copies are missing or shorter.
  ///
  /// - Parameter sizes: of the copies that there are.
  /// - Returns: the last fact that they have then.
  func complete(_ sizes: [String: Int]) throws -> Int64 {
    let (sequence, segments) = try manifest.segments()
    for segment in segments where sizes[segment.name.description] != segment.bytes {
      let bytes = try manifest.read(segment)
      _ = try bucket.client().put(
        .bytes(bytes), as: "\(ManifestCopies.folder)\(segment.name)",
        digest: SHA256.digest(of: bytes), isNew: false)
    }
    return sequence
  }

  /// Compares if the place in the bucket is this library's, and can be asked.
  ///
  /// - Returns: whether it could be asked.
  /// - Throws: `IngestError` as `sizes`; `FileError` of code `stopped` if `isStopped`, or a signal asks to end.
  func compareIfPossible(isStopped: () -> Bool) throws -> Bool {
    do {
      try compare()
      return true
    } catch let error as FileError {
      // It may also be the end of its time.
      let isAskedToEnd = isStopped() || CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
      if error.code == .stopped, isAskedToEnd { throw error }
      return false
    }
  }

  /// Compares if the place in the bucket is this library's.
  ///
  /// - Throws: as `sizes`.
  func compare() throws {
    if try bucket.owner() == identity { _ = try sizes() }
  }

  private func copy(
    of segment: Manifest.Segment, _ range: Range<Int>
  ) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    guard !range.isEmpty else { return bytes }
    try bucket.client().get("\(ManifestCopies.folder)\(segment.name)", range: range) {
      piece throws(FileError) in bytes.append(contentsOf: piece)
    }
    return bytes
  }

  private func refusal(_ name: String) -> IngestError {
    IngestError(
      .catalog,
      "“\(bucket.path("\(ManifestCopies.folder)\(name)").printable)” has facts that this library's manifest lacks, as "
        + "after an older backup was put back, or where another machine has taken this one's place. Nothing is copied "
        + "over it. `pipeline restore-library` makes a library of what the bucket has, in a new folder; to keep this one "
        + "instead, move “\(bucket.path(ManifestCopies.folder).printable)” away.")
  }

  /// Returns the sizes of the copies in a bucket by name.
  static func sizes(in bucket: OwnedBucket) throws(FileError) -> [String: Int] {
    let folder = ManifestCopies.folder
    var sizes: [String: Int] = [:]
    try bucket.client().list(folder) { entry throws(FileError) in
      let name = String(entry.key.dropFirst(folder.count))
      if Manifest.isSegment(BytePath(name)) { sizes[name] = entry.size }
    }
    return sizes
  }
}

extension ManifestComparison {
  /// - Parameters:
  ///   - location: where originals are.
  ///   - time: how long the store may take; a verb that needs no store does not wait for one that is away.
  init(
    of manifest: Manifest, with location: BucketLocation, identity: String, within time: Duration,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    let end = ContinuousClock.now + time
    self.init(
      manifest: manifest,
      bucket: OwnedBucket(location, for: "originals", identity: identity) {
        isStopped() || ContinuousClock.now > end
      }, identity: identity)
  }
}

extension LibraryFolder {
  /// Refuses a manifest that lacks facts of its copies in the bucket, if the library has one.
  ///
  /// - Throws: `IngestError`, also if the store can't be asked and other machines rely on the catalog.
  func compareManifestCopies(isStopped: @escaping @Sendable () -> Bool) throws {
    guard let bucket else { return }
    let comparison = try ManifestComparison(
      of: openManifest(), with: bucket, identity: marker.library, within: .seconds(10),
      isStopped: isStopped)
    guard try !comparison.compareIfPossible(isStopped: isStopped), layout.database != nil else {
      return
    }
    throw IngestError(
      .store,
      "Whether “\(bucket.name)” has a newer manifest can't be seen, because the store can't be asked, and other machines "
        + "rely on the catalog. Nothing was done: try again when the store can be used, which `pipeline doctor` tells."
    )
  }
}
