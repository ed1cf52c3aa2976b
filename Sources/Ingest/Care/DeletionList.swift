import Catalog
import Manifest
import PipelineModel

/// Completes the catalog's list of deleted originals where an older version has kept the catalog.
struct DeletionList {
  let library: IngestLibrary
  let report: any IngestReport
  /// How many facts one transaction takes.
  private static let batch = 4096

  /// Reads the manifest once, as far as the catalog contains it; does nothing where the list is
  /// complete. A kill means that the next start begins again, which does no harm.
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
          report.goesOn()
          facts = []
        }
      }
      try library.catalog.addDeletions(facts, isLast: true)
    }
  }
}
