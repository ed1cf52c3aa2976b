import Catalog
package import Ingest
package import PipelineModel
package import Records

/// What `status` says of a library.
package struct LibraryStatus {
  package let counts: StatusCounts
  package let failures: Int
  /// Bytes on the file system of the library.
  package let free: Int
  /// The process that holds the library, if any.
  package let holder: Int?
  package let root: BytePath
  /// Where originals are, if not in the library.
  package let bucket: String?
  /// The folders of the configured sources.
  let sources: [BytePath]

  /// Counts everything.
  ///
  /// - Parameter sources: the folders of the configured sources.
  package init(of library: ReadableLibrary, sources: [BytePath]) throws {
    counts = try library.catalog.status()
    failures = try library.catalog.failureCount()
    let disk = try LibraryDisk(of: library)
    (free, holder) = (disk.free, disk.holder)
    root = library.library.layout.root
    bucket = library.library.bucket?.name
    self.sources = sources
  }

  /// The number of paths in the configured sources where a file is expected, by state.
  package var onDisk: [(Sighting.State, Int)] {
    Sighting.State.allCases.map { state in
      (state, sources.reduce(0) { $0 + (counts.pathsOnDisk[$1]?[state] ?? 0) })
    }
  }

  /// The members of the event `status`.
  package var members: [String: JSONValue] {
    [
      "library": .string(root.description),
      "assets": .integer(counts.assets),
      "bucket": JSONMembers.text(bucket),
      "originals": .integer(counts.originals),
      "originalBytes": .integer(counts.originalBytes),
      "renditions": .integer(counts.renditions),
      "renditionBytes": .integer(counts.renditionBytes),
      "paths": Self.all(counts.sightings),
      "pathsOnDisk": Self.all(Dictionary(uniqueKeysWithValues: onDisk)),
      "jobs": .object(counts.jobs.mapValues(Self.all)),
      "failures": .integer(failures),
      "orphans": .integer(counts.orphans),
      "withoutThumbnail": .object(Self.gaps(counts.withoutThumbnail)),
      "freeBytes": .integer(free),
      "holder": JSONMembers.number(holder),
      "lastRun": counts.lastRun.map { .object(Self.run($0)) } ?? .null,
    ]
  }

  /// The counts of all states, also of those that have none.
  private static func all<State: CaseIterable & RawRepresentable<String> & Hashable>(
    _ counts: [State: Int]
  ) -> JSONValue {
    .object(State.allCases.reduce(into: [:]) { $0[$1.rawValue] = .integer(counts[$1] ?? 0) })
  }

  /// The most groups of assets without a thumbnail in JSON.
  private static let mostGroups = 100

  private static func gaps(_ counts: ThumbnailGapCounts) -> [String: JSONValue] {
    let causes = counts.causes.map { ($0.cause.rawValue, JSONValue.integer($0.assets)) }
    return [
      "assets": .integer(counts.assets),
      "isPartial": .bool(counts.isPartial),
      "causes": .object(Dictionary(uniqueKeysWithValues: causes)),
      "groups": .array(
        counts.groups.prefix(mostGroups).map { group in
          [
            "cause": .string(group.cause.rawValue), "assets": .integer(group.assets),
            "mediaType": JSONMembers.text(group.mediaType),
            "reason": JSONMembers.text(group.reason),
          ]
        }),
    ]
  }

  /// A run, as the member `lastRun`.
  package static func run(_ run: RunRecord) -> [String: JSONValue] {
    var members = run.counters.mapValues { JSONValue.integer($0) }
    members["run"] = .string(run.id.description)
    members["verb"] = .string(run.verb)
    members["startedAt"] = JSONMembers.time(run.startedAt)
    members["endedAt"] = JSONMembers.time(run.endedAt)
    return members
  }
}
