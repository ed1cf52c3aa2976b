import Catalog
import Manifest
import PipelineModel

/// What the manifest says about deleted bytes.
struct Deletions {
  let manifest: Manifest

  /// Returns the originals that the manifest deletes by the fact they are listed with, and that no
  /// later fact refers to; reads from the first of these facts on.
  ///
  /// The catalog answers for earlier facts: it lists bytes when their last asset goes.
  func confirmed(among listed: [DeletedOriginal]) throws(IngestError) -> Set<Digest> {
    guard let first = listed.map(\.sequence).min() else { return [] }
    let rows = Dictionary(listed.map { ($0.digest, $0) }, uniquingKeysWith: { $1 })
    var confirmed: Set<Digest> = []
    var cursor = try translating { try manifest.entries(after: first - 1) }
    while let entry = try translating({ try cursor.next() }) {
      switch entry.fact {
      case .stored(let stored): confirmed.remove(stored.digest)
      // A duplicate was given up for these bytes, so they are needed, whatever came before.
      case .duplicate(let duplicate): confirmed.remove(duplicate.digest)
      case .purged(let asset, let digest):
        let row = DeletedOriginal(digest: digest, asset: asset, sequence: entry.sequence)
        if rows[digest] == row { confirmed.insert(digest) }
      case .returned(let back):
        let row = DeletedOriginal(
          digest: back.digest, asset: back.asset, sequence: entry.sequence)
        if rows[back.digest] == row { confirmed.insert(back.digest) }
      case .intent, .abandoned, .trashed, .restored, .returning: continue
      }
    }
    return confirmed
  }
}
