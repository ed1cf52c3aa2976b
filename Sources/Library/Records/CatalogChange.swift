package import PipelineModel

/// One change to the catalog, from an import or from maintenance.
package enum CatalogChange: Hashable, Sendable {
  /// A new asset: inserts the asset, its jobs for all configured stages and, if
  /// missing, the original. Does not change an existing asset.
  case asset(NewAsset)
  /// The state of a path; replaces its previous state.
  case sighting(Sighting)
  /// The source file of a sighting was removed after its bytes became durable.
  case sourceRemoved(source: BytePath, path: BytePath)
  /// A run known from the manifest; does not change a run recorded by `beginRun`.
  case run(RunRecord)
  /// An asset was put into the trash; one already there keeps its time.
  case trashed(AssetID, at: Timestamp)
  case restored(AssetID)
  /// A user said something about an asset.
  case annotated(AssetID, Annotation)
  /// The failed jobs of an asset are ready again, as by `retry`.
  case retried(AssetID)
  /// An asset was deleted for good: deletes its row and, with the last asset that has
  /// the bytes, their records. Its paths stay settled.
  ///
  /// `sequence` is the fact's sequence number in the manifest. Without it, the bytes
  /// are not listed as deleted, because `gc` could not find the fact.
  case purged(AssetID, sequence: Int64? = nil)
  /// An asset's bytes were returned to a path; the asset is deleted as if purged.
  case returned(AssetID, Sighting, sequence: Int64? = nil)
  /// A duplicate of these bytes was discarded, so they must not be deleted, despite
  /// any earlier deletion.
  case relied(on: Digest)
}
