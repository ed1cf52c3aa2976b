import Catalog
import LibrarySession
import PipelineModel
import Query
import Records

/// What of a library is shown: which renditions stand for their assets, and what nobody gets to see.
struct Disclosure: Sendable {
  private let renditions: ConfiguredRenditions
  /// Whether nobody is told where pictures were taken.
  let hidesPlaces: Bool

  init(_ renditions: ConfiguredRenditions, hidden: [HiddenFact] = []) {
    self.renditions = renditions
    hidesPlaces = hidden.contains(.gps)
  }

  // MARK: Bytes

  /// Whether originals are handed out: those of photographs tell where they were taken.
  var hasOriginals: Bool { !hidesPlaces }

  func requireOriginals() throws(HTTPError) {
    guard hasOriginals else {
      throw HTTPError(
        403, "hidden",
        "`pipeline serve` was started with --hide gps: originals may tell where they were taken.")
    }
  }

  /// Whether the bytes of a rendition are handed out.
  func allows(_ rendition: RenditionRecord) -> Bool {
    !hidesPlaces || renditions.isStripped(rendition)
  }

  /// The renditions that stand for an asset, the smallest first: of the whole picture, upright, and animated
  /// only if there is no still.
  ///
  /// - Parameter orientation: EXIF's of the original; `nil` if it has none.
  func shown(_ all: [RenditionRecord], orientation: Int?) -> [RenditionRecord] {
    var stills: [RenditionRecord] = []
    var animations: [RenditionRecord] = []
    for rendition in all where BrowserType.all.contains(rendition.mediaType) && allows(rendition) {
      switch renditions.content(of: rendition, orientation: orientation) {
      case .picture, .unknown: stills.append(rendition)
      case .animation: animations.append(rendition)
      case .altered: break
      }
    }
    return (stills.isEmpty ? animations : stills)
      .sorted { max($0.width, $0.height) < max($1.width, $1.height) }
  }

  /// The same of an asset that a search found, with its renditions.
  func shown(_ found: FoundAsset, in catalog: CatalogReader) throws -> [RenditionRecord] {
    let all = found.renditions ?? []
    guard renditions.dependsOnOrientation, !all.isEmpty else {
      return shown(all, orientation: nil)
    }
    return shown(all, orientation: try catalog.asset(found.id)?.orientation)
  }

  // MARK: Facts

  /// Words in the names of facts that tell a place: `gps`, `exif:GPSLatitude`, `location` of a film.
  private static let placeWords = ["gps", "latitude", "longitude", "location", "coordinate"]
  /// Whole names that do: short forms of programs that look places up, and what is said of a place that can't be.
  private static let placeNames: Set = [
    "lat", "lon", "lng", "long", "geo", "geo:lat", "geo:long", "problem",
  ]

  private static func tellsPlace(_ name: String) -> Bool {
    let name = name.lowercased()
    return placeNames.contains(name) || placeWords.contains(where: name.contains)
  }

  /// Facts without those that are hidden.
  func facts(_ facts: JSONValue) -> JSONValue {
    guard hidesPlaces else { return facts }
    switch facts {
    case .object(let members):
      return .object(
        members.filter { !Self.tellsPlace($0.key) }.mapValues(self.facts))
    case .array(let values): return .array(values.map(self.facts))
    default: return facts
    }
  }

  // MARK: Searches

  /// The fields that a search may name.
  var fields: [Field] { Field.all.filter { !hides($0) } }

  private func hides(_ field: Field) -> Bool {
    hidesPlaces && [.number(.latitude), .number(.longitude)].contains(field)
  }

  /// Whether the words of a saved search are told.
  func allows(_ query: String, _ saved: [String: String]) -> Bool {
    guard hidesPlaces else { return true }
    guard let filter = try? Filter(query: query, saved: saved) else { return false }
    return (try? check(filter)) != nil
  }

  /// Refuses a search for what is hidden: what it finds would tell it.
  func check(_ filter: Filter) throws(QueryError) {
    switch filter {
    case .all(let filters), .any(let filters): for filter in filters { try check(filter) }
    case .not(let filter): try check(filter)
    case .known(let field): try check(field)
    case .number(let field, _): try check(.number(field))
    case .near: try check(.number(.latitude))
    case .text, .time, .flag, .words: break
    }
  }

  func check(_ order: [SortCriterion]) throws(QueryError) {
    for criterion in order { try check(criterion.field) }
  }

  private func check(_ field: Field) throws(QueryError) {
    guard !hides(field) else {
      throw QueryError(message: "This server tells nobody where pictures were taken (--hide gps).")
    }
  }
}

extension AssetRecord {
  /// EXIF's orientation of the original, 1 to 8; `nil` if it has none.
  var orientation: Int? { identity?["orientation"]?.integer }
}
