package import PipelineModel
package import Query
package import Records

/// An asset that changed, as a search sees it.
package struct AssetChange: Sendable {
  package enum Outcome: Sendable {
    /// The search finds it; the values may be missing if only keys are needed.
    case found(AssetValues?)
    /// The search does not find it, and may have found it before.
    case notFound
    case deleted
  }

  package var id: AssetID
  package var outcome: Outcome
}

/// What changed since a revision, as a search sees it.
package struct SearchChanges: Sendable {
  /// In the order of the assets' last changes.
  package var assets: [AssetChange]
  /// Where the next page begins.
  package var revision: Revision
  /// Whether there is nothing more.
  package var isLast: Bool
}

extension AssetSearch {
  /// Returns the next assets that changed since a revision, each once, as they are in that moment.
  ///
  /// Only the filter counts: not the order, the start and the limit.
  ///
  /// - Parameters:
  ///   - damaged: assets that `verify` found damaged.
  ///   - need: what the caller needs of those found.
  /// - Throws: `.unknownRevision`.
  package func changes(
    since revision: Revision, in catalog: CatalogReader, damaged: Set<AssetID>, need: Need
  ) throws(CatalogError) -> SearchChanges {
    // One snapshot, so that nothing is told of twice because it was read too late.
    try catalog.read { (_) throws(CatalogError) in
      let page = try catalog.changes(since: revision, limit: CatalogReader.valuesPageSize)
      var found: [AssetID: AssetValues?] = [:]
      let kept = page.assets.lazy.filter { !$0.isDeleted }.map(\.id)
      if filter == .everything, need == .keys {
        for id in kept { found.updateValue(nil, forKey: id) }
      } else {
        let values = try catalog.assetValues(
          of: kept, withMetadata: need == .metadata || filter.asksForMetadata)
        for (id, values) in values {
          let values = values.damaged(damaged.contains(id))
          if filter.holds(for: values) { found.updateValue(values, forKey: id) }
        }
      }
      return SearchChanges(
        assets: page.assets.map { id, isDeleted in
          AssetChange(
            id: id,
            outcome: isDeleted ? .deleted : found[id].map { .found($0) } ?? .notFound)
        }, revision: page.revision, isLast: page.isLast)
    }
  }
}
