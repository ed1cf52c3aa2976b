import Catalog
import Ingest
import PipelineModel
import Records

/// The place of an asset in a search, and the assets before and behind it.
struct Surroundings: Hashable {
  /// Beginning with 0.
  let index: Int
  let previous: AssetID?
  let next: AssetID?
}

extension ReadableLibrary {
  /// Returns an asset's place in a search, or `nil` if it is not found.
  ///
  /// - Parameter outline: what is kept of the search; without it all assets are counted, which takes a
  ///   second or so for a million.
  func surroundings(
    of asset: AssetID, in search: AssetSearch, _ outline: OutlineCache.Entry?
  ) throws -> Surroundings? {
    let damaged = try damagedAssets(for: search.filter)
    return try catalog.snapshot {
      let kept = try outline.flatMap { try $0.revision == catalog.revision ? $0 : nil }
      guard
        let index = try kept.map({ try place(of: asset, in: search, by: $0, damaged) })
          ?? search.place(of: asset, in: catalog, damaged: damaged)
      else { return nil }
      let previous = try index == 0 ? nil : self.asset(at: index - 1, in: search, by: kept, damaged)
      let next = try keys(of: search, after: asset, limit: 1, damaged).first
      return Surroundings(index: index, previous: previous, next: next)
    }
  }

  /// Returns an asset's place by the next one whose place is known.
  private func place(
    of asset: AssetID, in search: AssetSearch, by outline: OutlineCache.Entry,
    _ damaged: Set<AssetID>
  ) throws -> Int? {
    guard try search.finds(asset, in: catalog, damaged: damaged) else { return nil }
    let stride = AssetOutline.stride
    let known = Dictionary(
      zip(outline.keys, 0...).map { ($0, $1 * stride) }, uniquingKeysWith: { first, _ in first })
    let ahead = try [asset] + keys(of: search, after: asset, limit: stride - 1, damaged)
    for (distance, key) in ahead.enumerated() {
      if let place = known[key] { return place - distance }
    }
    // It is behind the last one that is known.
    return outline.count - ahead.count
  }

  private func asset(
    at index: Int, in search: AssetSearch, by outline: OutlineCache.Entry?,
    _ damaged: Set<AssetID>
  ) throws -> AssetID? {
    let (block, offset) = index.quotientAndRemainder(dividingBy: AssetOutline.stride)
    guard let outline, outline.keys.indices.contains(block) else {
      return try keys(of: search, after: nil, offset: index, limit: 1, damaged).first
    }
    let start = outline.keys[block]
    if offset == 0 { return start }
    return try keys(of: search, after: start, offset: offset - 1, limit: 1, damaged).first
  }

  private func keys(
    of search: AssetSearch, after start: AssetID?, offset: Int = 0, limit: Int,
    _ damaged: Set<AssetID>
  ) throws -> [AssetID] {
    var rest = search
    (rest.after, rest.offset, rest.limit) = (start, offset, limit)
    var keys: [AssetID] = []
    try rest.run(in: catalog, damaged: damaged, need: .keys) { id, _ in keys.append(id) }
    return keys
  }
}
