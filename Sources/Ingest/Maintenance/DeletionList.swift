import Catalog
import Manifest
import PipelineModel

/// Completes the catalog's list of deleted originals if an older version maintained the catalog.
struct DeletionList {
  let library: IngestLibrary
  let report: any IngestReport
  /// The number of facts in a transaction.
  private static let batch = 4096

  /// Reads the manifest once, up to the catalog's position; does nothing if the list is complete.
  ///
  /// After a kill, the next start begins again, which is harmless.
  func complete() throws(IngestError) {
    try translating {
      if try library.catalog.knowsDeletions { return }
      let position = try library.catalog.manifestPosition
      var facts: [DeletionFact] = []
      var cursor = try library.manifest.entries(after: 0)
      while let entry = try cursor.next(), entry.sequence <= position {
        switch entry.fact {
        case .stored(let stored): facts.append(.relied(on: stored.digest))
        case .duplicate(let duplicate): facts.append(.relied(on: duplicate.digest))
        case .purged(let asset, let digest):
          facts.append(
            .deleted(.init(digest: digest, asset: asset, sequence: entry.sequence)))
        case .returned(let back):
          facts.append(
            .deleted(.init(digest: back.digest, asset: back.asset, sequence: entry.sequence)))
        case .intent, .abandoned, .trashed, .restored, .returning: continue
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
}
