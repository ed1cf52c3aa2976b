public import Foundation
public import PipelineModel
import Query

/// A question to a library: which assets, in which order, how many.
///
/// What can't be answered is an error when the question is made, before anything is read.
public struct Fetch: Sendable {
  private(set) var filter = Filter.everything
  private(set) var order: [SortCriterion] = []
  private(set) var start: AssetID?
  private(set) var most: Int?

  /// All assets, oldest import first.
  public init() {}

  /// The assets that meet a predicate.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion` that names what can't be translated.
  public init(_ predicate: Predicate<Asset>) throws(LibraryError) {
    filter = try PredicateTranslation.filter(of: predicate)
  }

  /// The assets that the words of a query describe, as on the command line.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion`.
  public init(query: String) throws(LibraryError) { filter = try Self.filter(query) }

  /// Those that meet a predicate, too.
  public func matching(_ predicate: Predicate<Asset>) throws(LibraryError) -> Fetch {
    adding(try PredicateTranslation.filter(of: predicate))
  }

  /// Those that the words of a query describe, too.
  public func matching(query: String) throws(LibraryError) -> Fetch {
    adding(try Self.filter(query))
  }

  /// In the order of properties; assets without a value come last, and equal ones in the order of
  /// import.
  ///
  /// Texts sort without case and accents, whatever a descriptor's comparator says.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion` for a property that can't be sorted by.
  public func sorted(by descriptors: SortDescriptor<Asset>...) throws(LibraryError) -> Fetch {
    var fetch = self
    fetch.order = []
    for descriptor in descriptors {
      guard let property = descriptor.keyPath, let field = Asset.field(property) else {
        throw LibraryError(
          .notAQuestion,
          "Nothing can be sorted by "
            + (descriptor.keyPath.map { Asset.name(of: $0) } ?? "a value without a property")
            + "; use properties of an asset.")
      }
      fetch.order.append(SortCriterion(field, isDescending: descriptor.order == .reverse))
    }
    return fetch
  }

  /// At most so many; a negative number means none.
  public func limited(to count: Int) -> Fetch {
    var fetch = self
    fetch.most = max(0, count)
    return fetch
  }

  /// The next ones after an asset, whatever else was imported or deleted meanwhile.
  public func after(_ id: AssetID) -> Fetch {
    var fetch = self
    fetch.start = id
    return fetch
  }

  private func adding(_ filter: Filter) -> Fetch {
    var fetch = self
    fetch.filter = .all([self.filter, filter].filter { $0 != .everything })
    return fetch
  }

  private static func filter(_ query: String) throws(LibraryError) -> Filter {
    do throws(QueryError) {
      return try Filter(query: query)
    } catch {
      throw LibraryError(.notAQuestion, error.message)
    }
  }
}
