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
  private(set) var skipped = 0
  private(set) var withRenditions = false

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

  /// In the order of properties; assets without a value come last, unless `nilFirst` says otherwise, and
  /// equal ones in the order of import.
  ///
  /// Texts sort without case and accents, whatever a descriptor's comparator says.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion` for a property that can't be sorted by.
  public func sorted(by descriptors: SortDescriptor<Asset>...) throws(LibraryError) -> Fetch {
    var fetch = self
    let isNilFirst = order.contains { $0.isNilFirst }
    fetch.order = []
    for descriptor in descriptors {
      guard let property = descriptor.keyPath,
        let field = Asset.field(property) ?? Asset.fieldOfOwnType(property)
      else {
        throw LibraryError(
          .notAQuestion,
          "Nothing can be sorted by "
            + (descriptor.keyPath.map { Asset.name(of: $0) } ?? "a value without a property")
            + "; use properties of an asset.")
      }
      fetch.order.append(SortCriterion(field, isDescending: descriptor.order == .reverse))
    }
    return fetch.withNil(first: isNilFirst)
  }

  /// Assets without a value of a property come first in the order, whatever its direction.
  ///
  /// Say it after `sorted(by:)`.
  public func nilFirst() -> Fetch { withNil(first: true) }

  /// Assets without a value of a property come last in the order, whatever its direction: as it is
  /// without this.
  public func nilLast() -> Fetch { withNil(first: false) }

  private func withNil(first isFirst: Bool) -> Fetch {
    var fetch = self
    for index in fetch.order.indices { fetch.order[index].isNilFirst = isFirst }
    return fetch
  }

  /// At most so many; a negative number means none.
  public func limited(to count: Int) -> Fetch {
    var fetch = self
    fetch.most = max(0, count)
    return fetch
  }

  /// Without the first ones, of which so many are counted each time; a negative number means none.
  ///
  /// That takes longer the more they are, and imports and deletions shift what comes next. `after(_:)` does not
  /// count.
  public func offset(_ count: Int) -> Fetch {
    var fetch = self
    fetch.skipped = max(0, count)
    return fetch
  }

  /// Reads what else will be needed of the assets together with them: `\.renditions`.
  ///
  /// It takes one statement more for a page of assets, none for each. Tags and albums always come
  /// with their assets, so they may be named.
  ///
  /// - Throws: `LibraryError` of code `notAQuestion` for a property that is not read apart.
  public func prefetching(_ properties: PartialKeyPath<Asset>...) throws(LibraryError) -> Fetch {
    var fetch = self
    for property in properties {
      switch property {
      case \Asset.renditions: fetch.withRenditions = true
      case \Asset.tags, \Asset.albums: continue
      default:
        throw LibraryError(
          .notAQuestion,
          "\(Asset.name(of: property)) can't be prefetched; it always comes with the asset.")
      }
    }
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
