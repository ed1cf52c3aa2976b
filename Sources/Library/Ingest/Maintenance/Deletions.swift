import Catalog
import Manifest
import PipelineModel
import Records

/// Completes the catalog's list of deleted originals if an older version maintained the catalog.
struct DeletionList {
  let library: IngestLibrary
  let report: any IngestReport
  /// The number of facts in a transaction.
  private static let batch = 4096

  /// Reads the manifest once, up to the catalog's position; does nothing if the list is complete.
  ///
  /// After a kill, the next start begins again, which is harmless.
  func complete() throws {
    if try library.catalog.knowsDeletions { return }
    let position = try library.catalog.manifestPosition
    var facts: [DeletionFact] = []
    var cursor = try library.manifest.entries(after: 0)
    while let entry = try cursor.next(), entry.sequence <= position {
      switch entry.fact {
      case .stored(let stored): facts.append(.relied(on: stored.digest))
      case .duplicate(let duplicate): facts.append(.relied(on: duplicate.digest))
      case .purged(let asset, let digest):
        facts.append(.deleted(.init(digest: digest, asset: asset, sequence: entry.sequence)))
      case .returned(let back):
        facts.append(
          .deleted(.init(digest: back.digest, asset: back.asset, sequence: entry.sequence)))
      case .intent, .abandoned, .trashed, .restored, .annotated, .retried, .returning: continue
      }
      if facts.count >= Self.batch {
        try library.catalog.addDeletions(facts, isLast: false)
        report.stillWorking()
        facts = []
      }
    }
    try library.catalog.addDeletions(facts, isLast: true)
  }
}

/// What the manifest says about deleted bytes.
struct Deletions {
  let manifest: Manifest

  /// Returns the originals that the manifest deletes by the fact they are listed with, and that no
  /// later fact refers to; reads from the first of these facts on.
  ///
  /// The catalog answers for earlier facts: it lists bytes when their last asset goes.
  func confirmed(among listed: [DeletedOriginal]) throws -> Set<Digest> {
    guard let first = listed.map(\.sequence).min() else { return [] }
    let rows = Dictionary(listed.map { ($0.digest, $0) }, uniquingKeysWith: { $1 })
    var confirmed: Set<Digest> = []
    var cursor = try manifest.entries(after: first - 1)
    while let entry = try cursor.next() {
      switch entry.fact {
      case .stored(let stored): confirmed.remove(stored.digest)
      // A duplicate was given up for these bytes, so they are needed, whatever came before.
      case .duplicate(let duplicate): confirmed.remove(duplicate.digest)
      case .purged(let asset, let digest):
        let row = DeletedOriginal(digest: digest, asset: asset, sequence: entry.sequence)
        if rows[digest] == row { confirmed.insert(digest) }
      case .returned(let back):
        let row = DeletedOriginal(digest: back.digest, asset: back.asset, sequence: entry.sequence)
        if rows[back.digest] == row { confirmed.insert(back.digest) }
      case .intent, .abandoned, .trashed, .restored, .annotated, .retried, .returning: continue
      }
    }
    return confirmed
  }
}
