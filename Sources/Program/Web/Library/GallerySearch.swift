import Catalog
import Ingest
import PipelineModel
import Query
import Records

/// What a page shows: the words of a query, and an order.
struct GallerySearch: Hashable, Sendable {
  /// As the user wrote it.
  let query: String
  /// As in `list --sort`.
  let sort: String

  static let newestFirst = "-taken"

  /// - Parameters:
  ///   - query: by default everything.
  ///   - sort: by default the newest first.
  init(query: String? = nil, sort: String? = nil) {
    self.query = query ?? ""
    self.sort = sort.flatMap { $0.isEmpty ? nil : $0 } ?? Self.newestFirst
  }

  /// Whether the order is that of the time when pictures were taken.
  var isByTime: Bool {
    sort == "taken" || sort == Self.newestFirst || sort.hasPrefix("taken,")
      || sort.hasPrefix("-taken,")
  }

  /// Whether the answer depends on the time of the question.
  var dependsOnTime: Bool { !query.isEmpty }

  /// Reads the query.
  ///
  /// Pictures in the trash are left out, unless the query asks for them.
  ///
  /// - Throws: `QueryError`, also for what is hidden.
  func search(in library: ReadableLibrary, _ disclosure: Disclosure) throws -> AssetSearch {
    let filter = try library.filter(query, disclosure)
    var search = AssetSearch(
      filter.asksForTrash ? filter : .all(filter.conjuncts + [.not(.flag(.trashed))]))
    search.order = try SortCriterion.all(in: sort)
    try disclosure.check(search.order)
    return search
  }
}

extension Filter {
  /// Whether it asks for what is, or is not, in the trash.
  fileprivate var asksForTrash: Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains(where: \.asksForTrash)
    case .not(let filter): filter.asksForTrash
    case .flag(let flag): flag == .trashed
    case .text(let field, _): field == .state
    case .time(let field, _): field == .trashed
    case .known(let field): field == .time(.trashed) || field == .text(.state)
    case .number, .words, .near: false
    }
  }
}

extension ReadableLibrary {
  /// Reads a query, which may name saved ones.
  ///
  /// - Throws: `QueryError`, also for what is hidden.
  func filter(_ query: String, _ disclosure: Disclosure) throws -> Filter {
    let saved = query.contains("@") ? try SavedSearches.read(in: library) : [:]
    let filter = try Filter(query: query, saved: saved)
    try disclosure.check(filter)
    return filter
  }

  /// Returns the assets that a search finds, a page at most, with their renditions.
  ///
  /// - Parameters:
  ///   - first: the asset to begin with; `nil` for `search.after`, or the first one.
  func page(
    of search: AssetSearch, from first: AssetID? = nil, limit: Int
  ) throws -> [FoundAsset] {
    let damaged = try damagedAssets(for: search.filter)
    return try catalog.snapshot {
      var keys: [AssetID] = []
      var rest = search
      if let first {
        var own = AssetSearch(.all([search.filter, .text(.id, .equals(first.description))]))
        own.limit = 1
        try own.run(in: catalog, damaged: damaged, need: .keys) { id, _ in keys.append(id) }
        rest.after = first
      }
      rest.limit = limit - keys.count
      try rest.run(in: catalog, damaged: damaged, need: .keys) { id, _ in keys.append(id) }
      if let found = try catalog.foundAssets(keys, withRenditions: true) { return found }
      throw HTTPError(
        503, "unprepared",
        "The next `pipeline run` has to prepare the catalog for searches first.",
        headers: [Header("Retry-After", "60")])
    }
  }
}
