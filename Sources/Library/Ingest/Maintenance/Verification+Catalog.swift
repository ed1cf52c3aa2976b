import Catalog
import Manifest
import PipelineModel

extension Verification {
  /// Compares the manifest's assets with the catalog's.
  func compareCatalog(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    // The catalog first: what it contains was in the manifest before.
    let position = try catalog.lastManifestPosition
    if let lag = try library.openManifest().lag(behind: position) {
      return report(
        .init(kind: .catalogDiffers, path: library.layout.manifest, message: "\(lag)."))
    }
    let comparison = AssetComparison(
      manifest: library.layout.manifest, catalog: catalog,
      step: { try pass.begin($0, in: library.layout.manifest) })
    try comparison.run { difference in
      let message =
        switch difference.side {
        case .manifest:
          "The manifest has the asset \(difference.asset), the catalog does not; `pipeline rebuild-catalog` follows the "
            + "manifest."
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

/// Compares the manifest's assets with the catalog's, in bounded memory.
///
/// Keys hash assets into buckets. First each bucket is summed on both sides; equal sums mean equal
/// assets. Only assets in buckets that differ are then compared one by one, in as many rounds as it
/// takes to hold a bounded number of them. What other programs change meanwhile can make sums
/// differ, but is no difference then.
struct AssetComparison {
  /// An asset that only one side has, or both with different bytes.
  struct Difference: Hashable {
    enum Side { case manifest, catalog }

    /// The side that has the asset.
    var side: Side
    var asset: AssetID
    var digest: Digest
  }

  /// The manifest's folder.
  let manifest: BytePath
  let catalog: CatalogReader
  /// Called regularly with the progress of reading the manifest; throws to stop.
  let step: (VerificationStep) throws -> Void
  /// The approximate number of assets compared one by one in a round.
  var roundSize = 1 << 14
  /// The number of facts or assets read between two steps.
  var stepSize = 1 << 12

  private static let bucketCount = 1 << 16

  /// Calls `body` with each difference.
  func run(_ body: (Difference) -> Void) throws {
    let (sums, count) = try sumUp()
    let differing = sums.indices.filter { sums[$0] != 0 }
    let buckets = max(1, roundSize * Self.bucketCount / max(count, 1))
    for start in stride(from: 0, to: differing.count, by: buckets) {
      try compare(differing[start..<min(start + buckets, differing.count)], body)
    }
  }

  /// Adds the manifest's assets and subtracts the catalog's, bucket by bucket.
  ///
  /// - Returns: the sums, and the most assets that either side has, or had.
  private func sumUp() throws -> (sums: [Int], count: Int) {
    var sums = [Int](repeating: 0, count: Self.bucketCount)
    var read = 0
    let position = try forEachAsset { asset, digest in
      sums[Self.bucket(of: asset)] &-= Self.term(asset, digest)
      read += 1
    }
    var count = 0
    try forEachFact { entry in
      guard entry.sequence <= position else { return }
      switch entry.fact {
      case .stored(let stored):
        sums[Self.bucket(of: stored.asset)] &+= Self.term(stored.asset, stored.digest)
        count += 1
      case .purged(let asset, let digest):
        sums[Self.bucket(of: asset)] &-= Self.term(asset, digest)
      case .returned(let back):
        sums[Self.bucket(of: back.asset)] &-= Self.term(back.asset, back.digest)
      default:
        return
      }
    }
    return (sums, max(count, read))
  }

  private func compare(_ buckets: ArraySlice<Int>, _ body: (Difference) -> Void) throws {
    var isChosen = [Bool](repeating: false, count: Self.bucketCount)
    for bucket in buckets { isChosen[bucket] = true }
    var recorded: [AssetID: Digest] = [:]
    let position = try forEachAsset { asset, digest in
      if isChosen[Self.bucket(of: asset)] { recorded[asset] = digest }
    }
    var expected: [AssetID: Digest] = [:]
    // The catalog may have facts from beyond the position: applied while it was read, or while an
    // import can't be completed. What it has of their assets says nothing.
    var later: Set<AssetID> = []
    try forEachFact { entry in
      guard let (asset, digest) = Self.change(by: entry.fact), isChosen[Self.bucket(of: asset)]
      else { return }
      if entry.sequence > position { later.insert(asset) } else { expected[asset] = digest }
    }
    for (asset, digest) in expected.sorted(by: { $0.key < $1.key })
    where recorded[asset] != digest && !later.contains(asset) {
      body(Difference(side: .manifest, asset: asset, digest: digest))
    }
    for (asset, digest) in recorded.sorted(by: { $0.key < $1.key })
    where expected[asset] == nil && !later.contains(asset) {
      body(Difference(side: .catalog, asset: asset, digest: digest))
    }
  }

  /// The asset that a fact creates, or deletes if its digest is `nil`.
  private static func change(by fact: ManifestFact) -> (asset: AssetID, digest: Digest?)? {
    switch fact {
    case .stored(let stored): (stored.asset, stored.digest)
    case .purged(let asset, _): (asset, nil)
    case .returned(let back): (back.asset, nil)
    case .intent, .duplicate, .abandoned, .trashed, .restored, .annotated, .retried, .returning: nil
    }
  }

  /// Calls a body with each of the catalog's assets, as `CatalogReader.assetDigests` does.
  private func forEachAsset(_ body: (AssetID, Digest) -> Void) throws -> Int64 {
    var read = 0
    return try catalog.assetDigests { asset, digest in
      body(asset, digest)
      read += 1
      if read % stepSize == 0 { try step(.facts(0, of: 1)) }
    }
  }

  private func forEachFact(_ body: (ManifestEntry) throws -> Void) throws {
    // Reopened each time, so that it has everything that the catalog knew before.
    let manifest = try Manifest(folder: manifest)
    let last = manifest.lastSequence
    try step(.facts(0, of: last))
    var cursor = try manifest.entries(after: 0)
    while let entry = try cursor.next() {
      if entry.sequence % Int64(stepSize) == 0 { try step(.facts(entry.sequence, of: last)) }
      try body(entry)
    }
  }

  private static func bucket(of asset: AssetID) -> Int {
    asset.hashValue & (bucketCount - 1)
  }

  /// What an asset adds to its bucket.
  private static func term(_ asset: AssetID, _ digest: Digest) -> Int {
    var hasher = Hasher()
    hasher.combine(asset)
    hasher.combine(digest)
    return hasher.finalize()
  }
}
