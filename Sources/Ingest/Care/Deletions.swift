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
    var cursor = try translating { try manifest.entries(after: 0) }
    while let entry = try translating({ try cursor.next() }) {
      switch entry.fact {
      case .stored(let stored) where digests.contains(stored.digest):
        users[stored.digest, default: []].insert(stored.asset)
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
