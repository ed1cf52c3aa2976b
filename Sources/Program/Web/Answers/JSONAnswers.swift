import Catalog
import FoundationEssentials
import Hashing
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// What `api/v1/` answers.
struct JSONAnswers: Sendable {
  let sources: [BytePath]
  let disclosure: Disclosure

  /// The most assets of a page.
  static let mostAssets = 512

  // MARK: Assets

  /// `api/v1/grid`: all that is needed to lay out any number of pictures.
  func grid(
    _ search: GallerySearch, in library: ReadableLibrary, keptIn outlines: OutlineCache
  ) throws -> OutlineCache.Entry {
    let revision = try library.catalog.revision
    if let entry = outlines.entry(for: search, at: revision) { return entry }
    let assets = try search.search(in: library, disclosure)
    let outline = try assets.outline(
      in: library.catalog, damaged: library.damagedAssets(for: assets.filter))
    let days: [JSONValue] = outline.days.map { day, count in
      [day.map { .string(CalendarDay.text($0)) } ?? .null, .integer(count)]
    }
    let value: JSONValue = [
      "revision": .string(revision.description), "count": .integer(outline.count),
      "days": .array(search.isByTime ? days : []),
      "aspects": .string(Data(outline.aspects).base64EncodedString()),
      "keys": .array(outline.keys.map { .string($0.description) }),
    ]
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    let entry = OutlineCache.Entry(revision: revision, of: outline, bytes: bytes)
    outlines.keep(entry, for: search)
    return entry
  }

  /// `api/v1/assets`: a page of assets.
  func assets(
    _ search: GallerySearch, from first: AssetID?, limit: Int, in library: ReadableLibrary
  ) throws -> JSONValue {
    let found = try library.page(
      of: search.search(in: library, disclosure), from: first, limit: limit)
    let colors = try library.catalog.textFacts("dominantColor", of: found.map(\.id))
    return [
      "assets": .array(
        try found.map {
          try GalleryAsset($0, disclosure, in: library).members(color: colors[$0.id])
        })
    ]
  }

  /// `api/v1/assets/ID`: everything about one asset.
  func asset(
    _ id: AssetID, _ search: GallerySearch, in library: ReadableLibrary,
    keptIn outlines: OutlineCache
  ) throws -> JSONValue {
    guard let asset = try library.catalog.asset(id) else { throw HTTPError.noAsset }
    let whole = try WholeAsset(asset, in: library)
    var members = whole.members
    members["event"] = "asset"
    members["facts"] = members["facts"].map(disclosure.facts)
    let (thumbnail, preview) = GalleryAsset.best(
      of: disclosure.shown(asset.renditions, orientation: asset.orientation))
    members["thumbnail"] = JSONMembers.text(thumbnail.map(GalleryAsset.url))
    members["preview"] = JSONMembers.text(preview.map(GalleryAsset.url))
    members["original"] = disclosure.hasOriginals ? .string("o/\(id)") : .null
    members["iiif"] = ImageInformation.size(of: asset) == nil ? .null : .string("iiif/3/\(id)")
    let found = try library.catalog.foundAssets([id], withRenditions: true)?.first
    let color = try library.catalog.textFacts("dominantColor", of: [id])[id]
    if let found,
      case .object(let known) = try GalleryAsset(found, disclosure, in: library).members(
        color: color)
    {
      for name in ["kind", "colour", "duration", "reason"] { members[name] = known[name] }
    }
    members["tags"] = .array(found?.tags.map { .string($0) } ?? [])
    members["rating"] = JSONMembers.number(found?.rating.flatMap { Int(exactly: $0) })
    let place = try library.surroundings(
      of: id, in: search.search(in: library, disclosure),
      outlines.exactEntry(for: search, at: library.catalog.revision))
    members["index"] = JSONMembers.number(place?.index)
    members["previous"] = JSONMembers.text(place?.previous?.description)
    members["next"] = JSONMembers.text(place?.next?.description)
    return .object(members)
  }

  // MARK: Work

  /// `api/v1/status`.
  func status(in library: ReadableLibrary) throws -> JSONValue {
    let status = try LibraryStatus(of: library, sources: sources)
    var members = status.members
    members["event"] = "status"
    members["stages"] = .array(
      try StageProgress.all(status.counts, in: library.catalog).map(\.members))
    members["runs"] = .array(
      try library.catalog.lastRuns(10).map { .object(LibraryStatus.run($0)) })
    return .object(members)
  }

  /// What the event `status` says.
  func progress(in library: ReadableLibrary) throws -> JSONValue {
    let status = try LibraryStatus(of: library, sources: sources)
    return [
      "stages": .array(try StageProgress.all(status.counts, in: library.catalog).map(\.members)),
      "holder": JSONMembers.number(status.holder), "failures": .integer(status.failures),
      "assets": .integer(status.counts.assets),
    ]
  }

  /// `api/v1/failures`.
  func failures(_ query: String, in library: ReadableLibrary) throws -> JSONValue {
    let groups = try library.failureGroups(query, disclosure)
    return [
      "failures": .array(
        groups.map { group in
          [
            "stage": .string(group.stage), "class": .string(group.failureClass),
            "reason": .string(group.reason), "count": .integer(group.count),
            "assets": .array(group.assets.map { .string($0.description) }),
          ]
        })
    ]
  }
}

extension ReadableLibrary {
  /// The failures of what a query finds, by reason.
  func failureGroups(_ query: String, _ disclosure: Disclosure) throws -> [FailureGroup] {
    let filter = try filter(query, disclosure)
    return try catalog.failureGroups(
      filter, damaged: damagedAssets(for: filter), limit: 100, shown: 12) ?? []
  }
}

/// How far a stage is.
struct StageProgress: Sendable {
  let name: String
  let counts: [LedgerState: Int]
  let perMinute: Double?

  /// All configured stages, in their order.
  static func all(_ counts: StatusCounts, in catalog: CatalogReader) throws -> [StageProgress] {
    try catalog.stageNames().map { name in
      StageProgress(
        name: name, counts: counts.jobs[name] ?? [:],
        perMinute: try catalog.endedPerMinute(ofStage: name, now: .now))
    }
  }

  func count(_ state: LedgerState) -> Int { counts[state] ?? 0 }

  var isDue: Int { count(.waiting) + count(.ready) + count(.running) }
  var isFinished: Int { count(.done) + count(.skipped) + count(.failed) }

  var secondsLeft: Int? {
    guard let perMinute, perMinute > 0, isDue > 0 else { return nil }
    return Int((Double(isDue) / perMinute * 60).rounded(.up))
  }

  var members: JSONValue {
    var members: [String: JSONValue] = [
      "name": .string(name),
      "perMinute": perMinute.map { .number($0.rounded()) } ?? .null,
      "secondsLeft": JSONMembers.number(secondsLeft),
    ]
    for state in LedgerState.allCases { members[state.rawValue] = .integer(count(state)) }
    return .object(members)
  }
}
