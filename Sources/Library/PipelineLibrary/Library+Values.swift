import Catalog
import Ingest
import PipelineModel
import Query

/// A value of a property, and how many assets have it.
public struct ValueCount<Value: Hashable & Sendable>: Hashable, Sendable {
  /// `nil` stands for assets without a value.
  public let value: Value?
  public let count: Int
}

extension Library {
  /// Returns the distinct values of a text or number among the assets that a question finds, in order, with
  /// how many assets have each; the last is `nil` if assets have none.
  ///
  /// The question's order, start and limit do not count. For times there are `sections(_:by:)`.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion` for a property that searches don't know.
  public func values<Value: LosslessStringConvertible & Hashable & Sendable>(
    of property: KeyPath<Asset, Value>, _ fetch: Fetch = Fetch()
  ) async throws(LibraryError) -> [ValueCount<Value>] {
    try await values(of: Asset.field(property), called: Asset.name(of: property), fetch)
  }

  /// The same for a property that not every asset has.
  public func values<Value: LosslessStringConvertible & Hashable & Sendable>(
    of property: KeyPath<Asset, Value?>, _ fetch: Fetch = Fetch()
  ) async throws(LibraryError) -> [ValueCount<Value>] {
    try await values(of: Asset.field(property), called: Asset.name(of: property), fetch)
  }

  /// The same for a property with several values: an asset counts for each of them.
  public func values<Value: LosslessStringConvertible & Hashable & Sendable>(
    of property: KeyPath<Asset, [Value]>, _ fetch: Fetch = Fetch()
  ) async throws(LibraryError) -> [ValueCount<Value>] {
    try await values(of: Asset.field(property), called: Asset.name(of: property), fetch)
  }

  /// The same for a type of the program's own; values that it does not know are left out.
  public func values<Value: AssetValue>(
    of type: Value.Type, _ fetch: Fetch = Fetch()
  ) async throws(LibraryError) -> [ValueCount<Value>]
  where Value.Stored: LosslessStringConvertible {
    try await values(of: Value.property, fetch).compactMap { entry in
      guard let stored = entry.value else { return ValueCount(value: nil, count: entry.count) }
      return Value(stored: stored).map { ValueCount(value: $0, count: entry.count) }
    }
  }

  private func values<Value: LosslessStringConvertible & Hashable & Sendable>(
    of field: Field?, called name: String, _ fetch: Fetch
  ) async throws(LibraryError) -> [ValueCount<Value>] {
    guard let field else {
      throw LibraryError(.notAQuestion, "The values of \(name) can't be counted.")
    }
    return try await run { library in
      let grouping = Grouping.field(field)
      let groups = try AssetSearch(fetch.filter).groups(
        by: grouping, in: library.catalog, damaged: library.damagedAssets(for: fetch.filter))
      return grouping.sorted(groups).map {
        ValueCount(value: $0.key.flatMap { Value($0) }, count: $0.count)
      }
    }
  }
}
