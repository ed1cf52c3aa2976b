import Files
import Manifest
import ObjectStorage
import PipelineModel

/// Compares a manifest with its copies in a bucket.
///
/// A copy has more after an older backup was put back, or where another machine has taken this one's place. What is
/// recorded then would be of another history.
struct ManifestComparison {
  let manifest: Manifest
  let bucket: OwnedBucket
  /// The library's UUID.
  let identity: String

  /// Returns the sizes of the copies by name.
  ///
  /// - Throws: `IngestError` of code `catalog` if one has facts that the manifest lacks; `FileError` if the store can't
  ///   be asked.
  func sizes() throws -> [String: Int] {
    let (_, segments) = try manifest.segments()
    let sizes = try Self.sizes(in: bucket)
    let own = Dictionary(uniqueKeysWithValues: segments.map { ($0.name.description, $0.bytes) })
    if let longer = sizes.first(where: { $0.value > own[$0.key] ?? 0 }) {
      throw refusal(longer.key)
    }
    for segment in segments {
      guard let size = sizes[segment.name.description], size != segment.bytes else { continue }
      guard try manifest.read(segment).starts(with: copy(of: segment)) else {
        throw refusal(segment.name.description)
      }
    }
    return sizes
  }

  /// Compares if the place in the bucket is this library's, and can be asked: otherwise nothing is recorded or copied
  /// before it is.
  ///
  /// - Throws: `IngestError` as `sizes`.
  func compareIfPossible() throws {
    do {
      guard try bucket.owner() == identity else { return }
      _ = try sizes()
    } catch let error as FileError where error.code != .stopped {
      return
    }
  }

  private func copy(of segment: Manifest.Segment) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    try bucket.client().get("\(ManifestCopies.folder)\(segment.name)", limit: segment.bytes) {
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

extension LibraryFolder {
  /// Refuses a manifest that lacks facts of its copies in the bucket, if the library has one that can be asked.
  func compareManifestCopies(isStopped: @escaping @Sendable () -> Bool) throws {
    guard let bucket else { return }
    let place = OwnedBucket(
      bucket, for: "originals", identity: marker.library, isStopped: isStopped)
    try ManifestComparison(
      manifest: openManifest(), bucket: place, identity: marker.library
    ).compareIfPossible()
  }
}
