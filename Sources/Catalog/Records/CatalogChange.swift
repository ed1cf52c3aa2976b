package import PipelineModel

/// One change that taking files, and the care of the library, make to the catalog.
package enum CatalogChange: Hashable, Sendable {
  /// A new asset: makes the original's row if it is missing, the asset, and its
  /// jobs for all configured stages. An asset that is there already is left alone.
  case asset(NewAsset)
  /// A path's state; replaces an earlier one.
  case sighting(Sighting)
  /// The source of a sighting was removed after its bytes were safe.
  case sourceRemoved(source: BytePath, path: BytePath)
  /// A run that the manifest speaks of; one that is recorded is left alone.
  case run(RunRecord)
  /// An asset is in the trash since a moment; one that was there before stays there.
  case trashed(AssetID, at: Timestamp)
  /// An asset is out of the trash.
  case restored(AssetID)
  /// An asset is deleted for good: its row goes, and what is known of its bytes
  /// goes with the last asset that has them. Its paths stay settled.
  ///
  /// `sequence` is the place of the fact in the manifest. Without it, the bytes are
  /// not listed as deleted, because `gc` could not find the fact.
  case purged(AssetID, sequence: Int64? = nil)
  /// An asset's bytes are at a path again, and the asset goes as if it were purged.
  case returned(AssetID, Sighting, sequence: Int64? = nil)
  /// A file was let go for the sake of these bytes: they are not to be deleted, whatever
  /// came before.
  case relied(on: Digest)
}
