package import PipelineModel
package import Query
package import Records

/// Finds assets by a filter, in an order.
package struct AssetSearch: Sendable {
  package var filter: Filter
  /// The order; the key is always the last criterion.
  package var order: [SortCriterion] = []
  /// The asset after which to begin.
  package var after: AssetID?
  package var limit: Int?
  /// How many to leave out at the start, which are counted.
  package var offset = 0

  package init(_ filter: Filter) { self.filter = filter }

  /// What a caller needs of each asset.
  package enum Need: Sendable {
    /// Its key; the values may be missing.
    case keys
    /// Its values, without those from metadata.
    case values
    /// All of its values.
    case metadata
  }

  /// Whether it finds every asset, oldest import first.
  package var isEverything: Bool {
    filter == .everything && order.isEmpty && after == nil && limit == nil && offset == 0
  }

  /// Whether it asks for values from metadata.
  package var asksForMetadata: Bool {
    filter.asksForMetadata || order.contains { $0.field.isMetadata }
  }

  /// Calls a body for each asset found.
  ///
  /// It holds the keys of all assets found in memory. What SQL can't answer, because a run has still
  /// to prepare the catalog or the filter is too long, is answered from the facts of all assets.
  ///
  /// - Parameters:
  ///   - damaged: assets that `verify` found damaged.
  ///   - need: what the body needs.
  /// - Throws: `CatalogError` of code `noAsset` if there is no asset to begin after.
  package func run(
    in catalog: CatalogReader, damaged: Set<AssetID>, need: Need,
    _ body: (AssetID, AssetValues?) throws -> Void
  ) throws {
    if limit == 0 { return }
    let found: [AssetID]
    if order.isEmpty, filter == .everything, need != .keys {
      // A list of everything shows the first assets at once, and holds a page in memory.
      return try runInKeyOrder(catalog, damaged, withMetadata: need == .metadata, body)
    } else if let ids = try catalog.find(question(in: catalog, damaged: damaged)) {
      found = ids
    } else if order.isEmpty {
      return try runInKeyOrder(
        catalog, damaged, withMetadata: need == .metadata || asksForMetadata, body)
    } else {
      found = try sorted(in: catalog, damaged, withMetadata: asksForMetadata)
    }
    if need == .keys {
      for id in found { try body(id, nil) }
      return
    }
    let pageSize = CatalogReader.valuesPageSize
    for start in stride(from: 0, to: found.count, by: pageSize) {
      let page = found[start..<min(start + pageSize, found.count)]
      for (id, values) in try catalog.assetValues(of: page, withMetadata: need == .metadata) {
        try body(id, values.damaged(damaged.contains(id)))
      }
    }
  }

  /// Returns the assets found, if that is a page that SQL can answer at once; otherwise `nil`.
  ///
  /// - Parameters:
  ///   - damaged: assets that `verify` found damaged.
  ///   - withRenditions: whether to read their renditions, too.
  package func page(
    in catalog: CatalogReader, damaged: Set<AssetID>, withRenditions: Bool
  ) throws -> [FoundAsset]? {
    guard let limit, limit <= CatalogReader.mostFoundAtOnce else { return nil }
    return try catalog.snapshot {
      try catalog.foundAssets(
        by: question(in: catalog, damaged: damaged), withRenditions: withRenditions)
    }
  }

  /// Counts the assets found.
  ///
  /// - Parameter damaged: assets that `verify` found damaged.
  package func count(
    in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> Int {
    if let count = try catalog.count(filter, damaged: damaged) { return count }
    var count = 0
    try run(in: catalog, damaged: damaged, need: .keys) { _, _ in count += 1 }
    return count
  }

  /// Whether an asset is among those found.
  ///
  /// - Parameter damaged: assets that `verify` found damaged.
  package func finds(
    _ asset: AssetID, in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> Bool {
    let own = Filter.all([filter, .text(.id, .equals(asset.description))])
    return try catalog.count(own, damaged: damaged) == 1
  }

  /// Returns the place of an asset among those found, beginning with 0; `nil` if it is not found, or SQL
  /// can't answer it.
  ///
  /// - Parameter damaged: assets that `verify` found damaged.
  package func place(
    of asset: AssetID, in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> Int? {
    try catalog.snapshot {
      guard try finds(asset, in: catalog, damaged: damaged),
        let all = try catalog.count(filter, damaged: damaged)
      else { return nil }
      var rest = self
      rest.after = asset
      guard
        let after = try catalog.count(of: rest.question(in: catalog, damaged: damaged))
      else { return nil }
      return all - after - 1
    }
  }

  /// Counts the assets found by what they have in common; `nil` stands for no value.
  ///
  /// - Parameter damaged: assets that `verify` found damaged.
  package func groups(
    by grouping: Grouping, in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> [String?: Int] {
    if let groups = try catalog.groups(filter, by: grouping, damaged: damaged) { return groups }
    var counts: [String?: Int] = [:]
    try run(in: catalog, damaged: damaged, need: grouping.isByMetadata ? .metadata : .values) {
      _, values in
      for key in values.map(grouping.keys) ?? [] { counts[key, default: 0] += 1 }
    }
    return counts
  }

  /// The statements that find the assets; `nil` if the facts of all assets are read instead.
  package func explain(
    in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> [ExplainedStatement]? {
    try catalog.explain(question(in: catalog, damaged: damaged))
  }

  /// What the catalog is asked.
  private func question(
    in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> AssetQuestion {
    AssetQuestion(
      filter, order: order, start: try start(in: catalog), limit: limit, offset: offset,
      damaged: damaged)
  }

  /// Where to begin.
  private func start(in catalog: CatalogReader) throws -> AssetQuestion.Start? {
    guard let after else { return nil }
    guard !order.isEmpty else { return AssetQuestion.Start(id: after, keys: []) }
    if let keys = try catalog.sortValues(of: after, order) {
      return AssetQuestion.Start(id: after, keys: keys)
    }
    guard let values = try catalog.assetValues(after) else {
      throw CatalogError(
        .noAsset, "There is no asset \(after) any more to go on after; begin anew.")
    }
    return AssetQuestion.Start(id: after, keys: order.map { $0.value(of: values) })
  }

  private func runInKeyOrder(
    _ catalog: CatalogReader, _ damaged: Set<AssetID>, withMetadata: Bool,
    _ body: (AssetID, AssetValues) throws -> Void
  ) throws {
    var count = 0
    var left = offset
    do {
      try each(in: catalog, after: after, damaged, withMetadata: withMetadata) { id, values in
        if left > 0 {
          left -= 1
          return
        }
        try body(id, values)
        count += 1
        if count == limit { throw Enough() }
      }
    } catch is Enough {}
  }

  /// The end of a list that is as long as it may be.
  private struct Enough: Error {}

  private func sorted(
    in catalog: CatalogReader, _ damaged: Set<AssetID>, withMetadata: Bool
  ) throws -> [AssetID] {
    let start = try start(in: catalog).map { (id: $0.id, keys: $0.keys) }
    var found: [(id: AssetID, keys: [SortValue])] = []
    let most = limit.map { $0 + min(offset, .max - $0) }
    func trim(to most: Int) {
      found.sort(by: precedes)
      found.removeLast(max(0, found.count - most))
    }
    try each(in: catalog, after: nil, damaged, withMetadata: withMetadata) { id, values in
      let entry = (id, order.map { $0.value(of: values) })
      if let start, !precedes(start, entry) { return }
      found.append(entry)
      // A first page costs no more memory than some pages.
      if let most, found.count - most > max(most, 1024) { trim(to: most) }
    }
    trim(to: most ?? .max)
    return found.dropFirst(offset).map(\.id)
  }

  private func each(
    in catalog: CatalogReader, after: AssetID?, _ damaged: Set<AssetID>,
    withMetadata: Bool, _ body: (AssetID, AssetValues) throws -> Void
  ) throws {
    try catalog.assetValues(after: after, withMetadata: withMetadata) { id, values in
      let values = values.damaged(damaged.contains(id))
      if filter.holds(for: values) { try body(id, values) }
    }
  }

  private func precedes(
    _ left: (id: AssetID, keys: [SortValue]), _ right: (id: AssetID, keys: [SortValue])
  ) -> Bool {
    for (index, criterion) in order.enumerated() {
      let (a, b) = (left.keys[index], right.keys[index])
      if a == b { continue }
      if a == .none || b == .none { return (a == .none) == criterion.isNilFirst }
      return criterion.isDescending ? b < a : a < b
    }
    return left.id < right.id
  }
}

extension AssetValues {
  /// The values with what `verify` found.
  func damaged(_ isDamaged: Bool) -> AssetValues {
    guard isDamaged else { return self }
    var values = self
    values.flags.insert(.damaged)
    return values
  }
}
