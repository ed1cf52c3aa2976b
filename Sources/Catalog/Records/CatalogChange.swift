package import PipelineModel

/// One change that taking files makes to the catalog.
package enum CatalogChange: Hashable, Sendable {
  /// A new asset: makes the original's row if it is missing, the asset, and its
  /// jobs for all configured stages. An asset that is there already is left alone.
  case asset(NewAsset)
  /// A path's state; replaces an earlier one.
  case sighting(Sighting)
  /// The source of a sighting was removed after its bytes were safe.
  case sourceRemoved(source: BytePath, path: BytePath)
}
