import Manifest
import PipelineModel

/// What the manifest says about the deletion of bytes.
struct Deletions {
  let manifest: Manifest

  /// Those of some digests that a fact deleted, and that no asset has any more
  /// by the manifest's own account, whatever the catalog says.
  func deleted(among digests: Set<Digest>) throws(IngestError) -> Set<Digest> {
    guard !digests.isEmpty else { return [] }
    var users: [Digest: Set<AssetID>] = [:]
    var deleted: Set<Digest> = []
    var digestOf: [AssetID: Digest] = [:]
    var cursor = try translating { try manifest.entries(after: 0) }
    while let entry = try translating({ try cursor.next() }) {
      switch entry.fact {
      case .stored(let stored) where digests.contains(stored.digest):
        users[stored.digest, default: []].insert(stored.asset)
        digestOf[stored.asset] = stored.digest
      // Whoever let go of a file for the sake of these bytes relied on them, whatever came before.
      case .duplicate(let duplicate) where digests.contains(duplicate.digest):
        users[duplicate.digest, default: []].insert(duplicate.asset)
      case .restored(let asset):
        if let digest = digestOf[asset] { users[digest, default: []].insert(asset) }
      case .purged(let asset, let digest) where digests.contains(digest):
        users[digest]?.remove(asset)
        deleted.insert(digest)
      case .returned(let back) where digests.contains(back.digest):
        users[back.digest]?.remove(back.asset)
        deleted.insert(back.digest)
      default:
        continue
      }
    }
    return deleted.filter { users[$0, default: []].isEmpty }
  }
}
