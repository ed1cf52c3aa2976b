package import Catalog
package import Manifest
import PipelineModel

/// A taking that was begun and not ended.
package struct OpenTaking: Hashable, Sendable {
  /// The place of its intent in the manifest.
  package let sequence: Int64
  package let intent: ManifestFact.Intent
}

/// Applies to the catalog the facts of the manifest that it lacks.
package struct Replay {
  private let catalog: Catalog
  private let manifest: Manifest
  /// How many facts one transaction takes.
  private static let batch = 4096

  package init(catalog: Catalog, manifest: Manifest) {
    self.catalog = catalog
    self.manifest = manifest
  }

  /// Replays.
  ///
  /// - Returns: takings that were begun and not ended. The catalog's position
  ///   stays before the first of them until they are ended.
  @discardableResult
  package func run() throws(IngestError) -> [OpenTaking] {
    var open: [AssetID: OpenTaking] = [:]
    var changes: [CatalogChange] = []
    var last: Int64 = 0
    let start = try translating { try catalog.manifestPosition }
    try translating {
      try manifest.replay(after: start) { entry throws(ManifestError) in
        last = entry.sequence
        if case .intent(let intent) = entry.fact {
          open[intent.taking] = OpenTaking(sequence: entry.sequence, intent: intent)
        } else {
          open[entry.fact.taking] = nil
        }
        changes += Self.changes(entry)
      }
    }
    let position = open.values.map { $0.sequence - 1 }.min() ?? last
    while !changes.isEmpty {
      let batch = Array(changes.prefix(Self.batch))
      changes.removeFirst(batch.count)
      // The position moves with the last batch; replaying one twice is harmless.
      let reached = changes.isEmpty ? max(start, position) : start
      try translating { try catalog.apply(batch, manifestPosition: reached) }
    }
    if last > 0, open.isEmpty {
      try translating { try catalog.apply([], manifestPosition: max(start, position)) }
    }
    return open.values.sorted { $0.sequence < $1.sequence }
  }

  private static func changes(_ entry: ManifestEntry) -> [CatalogChange] {
    switch entry.fact {
    case .intent, .abandoned:
      []
    case .stored(let stored):
      [
        .asset(NewAsset(stored, importedAt: entry.time)),
        .sighting(sighting(stored.intent, .imported, stored.asset, at: entry.time)),
      ]
    case .duplicate(let duplicate):
      [
        .sighting(
          sighting(
            duplicate.intent, .duplicate, duplicate.asset, at: entry.time,
            isKept: duplicate.action == .kept))
      ]
    }
  }

  /// A path's state after its bytes were safe. Whether its source is still
  /// there, only a look at it can tell: `awaitsRemoval` makes the next scan look.
  private static func sighting(
    _ intent: ManifestFact.Intent, _ state: Sighting.State, _ asset: AssetID, at time: Timestamp,
    isKept: Bool = false
  ) -> Sighting {
    Sighting(
      source: intent.source, path: intent.path, state: state, identity: intent.identity,
      asset: asset, reason: state == .duplicate ? "Its bytes are stored already." : nil,
      seenAt: time, awaitsRemoval: intent.moves && !isKept)
  }
}
