package import PipelineModel
package import Query

/// A question to the catalog: which assets, in which order.
package struct AssetQuestion: Sendable {
  package var filter: Filter
  /// The order; the key is always the last criterion.
  package var order: [SortCriterion]
  /// The asset after which to begin, and its values of the order.
  package var start: Start?
  package var limit: Int?
  /// How many to leave out at the start, which are counted.
  package var offset: Int
  /// Assets that are damaged, beside those that a stage found so.
  package var damaged: Set<AssetID>

  package struct Start: Sendable {
    package var id: AssetID
    package var keys: [SortValue]

    package init(id: AssetID, keys: [SortValue]) {
      self.id = id
      self.keys = keys
    }
  }

  package init(
    _ filter: Filter, order: [SortCriterion] = [], start: Start? = nil, limit: Int? = nil,
    offset: Int = 0, damaged: Set<AssetID> = []
  ) {
    self.filter = filter
    self.order = order
    self.start = start
    self.limit = limit
    self.offset = offset
    self.damaged = damaged
  }
}
