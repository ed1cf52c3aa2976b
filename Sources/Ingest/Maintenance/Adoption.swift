import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// Creates a record for an original that no record refers to.
///
/// Such originals remain if the journal is older than the store, as in a restored library. Their
/// names are unknown, so the digest is the name.
struct Adoption {
  let library: IngestLibrary

  /// Records an original if it is whole, has no record, and does not await `gc`.
  ///
  /// - Returns: whether it has a record now.
  func adopt(
    _ digest: Digest, isStopped: @escaping () -> Bool
  ) throws(IngestError) -> Bool {
    try translating {
      if try library.catalog.hasOriginal(digest) { return true }
      // What an incomplete import stored has a name.
      guard !library.hasInterruptedWork, try !library.reader.isDeleted(digest),
        case .whole = try library.originals.verify(digest, isStopped: isStopped)
      else { return false }
      try record(digest)
      return true
    }
  }

  func record(_ digest: Digest) throws {
    let path = try library.originals.materialize(digest)
    let status = try FileSystem.status(of: path)
    // As if named to `import`: below the root, and never removed.
    let root = BytePath("/")
    let place = ManifestFact.Intent(
      taking: library.ids.next(), source: root, path: path.relative(to: root) ?? path,
      identity: status.identity, permissions: status.permissions, moves: false, run: nil)
    let stored = ManifestFact.Stored(
      asset: library.ids.next(), digest: digest, intent: place, supersedes: nil)
    let now = Timestamp.now
    let position = try library.manifest.append([.stored(stored)], at: now)
    let sighting = Sighting(
      source: root, path: place.path, state: .imported, identity: place.identity,
      asset: stored.asset, seenAt: now)
    try library.catalog.apply(
      [.asset(NewAsset(stored, importedAt: now)), .sighting(sighting)],
      manifestPosition: library.committed(position), mark: library.mark)
  }
}
