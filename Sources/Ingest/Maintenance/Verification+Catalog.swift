import Catalog
import Manifest
import PipelineModel

extension Verification {
  /// Compares the manifest's assets with the catalog's.
  func compareCatalog(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    // The catalog first: what it contains was in the manifest before.
    let position = try catalog.lastManifestPosition
    let last = try library.openManifest().lastSequence
    guard position <= last else {
      return report(
        .init(
          kind: .catalogDiffers, digest: nil, path: library.layout.manifest,
          message: "The catalog contains \(position) facts, the manifest only \(last)."))
    }
    let comparison = AssetComparison(
      manifest: library.layout.manifest, catalog: catalog,
      step: { try pass.begin($0, in: library.layout.manifest) })
    try comparison.run { difference in
      let message =
        switch difference.side {
        case .manifest:
          "The manifest has the asset \(difference.asset), the catalog does not."
        case .catalog:
          "The catalog has the asset \(difference.asset), the manifest does not, or has deleted "
            + "it; `pipeline rebuild-catalog` follows the manifest."
        }
      report(
        .init(
          kind: .catalogDiffers, digest: difference.digest, path: nil, message: message,
          assets: [difference.asset]))
    }
  }
}
