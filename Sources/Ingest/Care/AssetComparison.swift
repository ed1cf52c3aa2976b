import Catalog
import Manifest
import PipelineModel

/// Compares the assets that the manifest leads to with those of the catalog, in memory that does
/// not grow with their number.
///
/// Assets fall into buckets by their keys. First each bucket is summed up on both sides; equal
/// sums stand for equal assets. Only those of buckets that differ are then compared one by one,
/// in as many rounds as it takes to hold a bounded number of them.
struct AssetComparison {
  /// An asset that only one of the two has, or both with other bytes.
  struct Difference: Hashable {
    enum Side { case manifest, catalog }

    /// Who has it.
    var side: Side
    var asset: AssetID
    var digest: Digest
  }

  /// The folder of the manifest.
  let manifest: BytePath
  let catalog: CatalogReader
  /// Told every now and then how far a reading of the manifest is; ends it by an error.
  let step: (VerificationStep) throws -> Void
  /// How many assets are compared one by one in a round, about.
  var roundSize = 1 << 14

  private static let bucketCount = 1 << 16
  /// How many facts or assets are read between two steps.
  private static let stepSize = 1 << 12

  /// Compares, and gives what differs.
  func run(_ body: (Difference) -> Void) throws {
    let (sums, count) = try sumUp()
    let differing = sums.indices.filter { sums[$0] != 0 }
    let buckets = max(1, roundSize * Self.bucketCount / max(count, 1))
    for start in stride(from: 0, to: differing.count, by: buckets) {
      try compare(differing[start..<min(start + buckets, differing.count)], body)
    }
  }

  /// Adds up what the manifest says and takes off what the catalog says, bucket by bucket.
  ///
  /// - Returns: the sums, and how many assets there are, or were, at most on a side.
  private func sumUp() throws -> (sums: [Int], count: Int) {
    var sums = [Int](repeating: 0, count: Self.bucketCount)
    var read = 0
    let position = try catalog.assetDigests { asset, digest in
      sums[Self.bucket(of: asset)] &-= Self.term(asset, digest)
      read += 1
      if read % Self.stepSize == 0 { try step(.facts(0, of: 1)) }
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

  /// Compares the assets of some buckets one by one.
  private func compare(
    _ buckets: ArraySlice<Int>, _ body: (Difference) -> Void
  ) throws {
    var isChosen = [Bool](repeating: false, count: Self.bucketCount)
    for bucket in buckets { isChosen[bucket] = true }
    var recorded: [AssetID: Digest] = [:]
    let position = try catalog.assetDigests { asset, digest in
      if isChosen[Self.bucket(of: asset)] { recorded[asset] = digest }
    }
    var expected: [AssetID: Digest] = [:]
    // While a taking can't be ended, the catalog has facts from behind its position.
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

  /// The asset that a fact makes, or ends if its digest is `nil`.
  private static func change(by fact: ManifestFact) -> (asset: AssetID, digest: Digest?)? {
    switch fact {
    case .stored(let stored): (stored.asset, stored.digest)
    case .purged(let asset, _): (asset, nil)
    case .returned(let back): (back.asset, nil)
    case .intent, .duplicate, .abandoned, .trashed, .restored, .returning: nil
    }
  }

  private func forEachFact(_ body: (ManifestEntry) throws -> Void) throws {
    // Opened anew each time, so that it has all that the catalog knew before.
    let manifest = try Manifest(folder: manifest)
    let last = manifest.lastSequence
    try step(.facts(0, of: last))
    var cursor = try manifest.entries(after: 0)
    while let entry = try cursor.next() {
      if entry.sequence % Int64(Self.stepSize) == 0 { try step(.facts(entry.sequence, of: last)) }
      try body(entry)
    }
  }

  private static func bucket(of asset: AssetID) -> Int {
    asset.hashValue & (bucketCount - 1)
  }

  /// What an asset counts for in its bucket.
  private static func term(_ asset: AssetID, _ digest: Digest) -> Int {
    var hasher = Hasher()
    hasher.combine(asset)
    hasher.combine(digest)
    return hasher.finalize()
  }
}
