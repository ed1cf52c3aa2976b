import Catalog
import Configuration
import Files
import Ingest
import LibrarySession
import PipelineModel

/// `pipeline status`: prints counts, the last run and space.
enum StatusVerb: Verb {
  static let name = "status"
  static let summary = "Count assets, paths and jobs by state; last run, failures, space"
  static let examples = [
    ("pipeline status", "for people"),
    ("pipeline status --json", "for monitoring"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let session = try ReadingSession(context.search)
    let counts = try session.catalog.status()
    let failures = try session.catalog.failureCount()
    let folder = session.library.folder
    let free = try folder.fileSystem().freeBytes
    // The process that holds the library, if any.
    let isHeld = try FileLock.isHeld(LibraryLayout.lock, in: folder)
    let holder = isHeld ? FileLock.holder(LibraryLayout.lock, in: folder) : nil
    if context.console.isJSON {
      context.console.event("status", json(counts, failures, free, holder, session))
    } else {
      describe(counts, failures, free, holder, session, context.console)
    }
    return .success
  }

  private static func json(
    _ counts: StatusCounts, _ failures: Int, _ free: Int, _ holder: Int?, _ session: ReadingSession
  ) -> [String: JSONValue] {
    [
      "library": .string(session.setup.layout.root.description),
      "assets": .integer(counts.assets),
      "originals": .integer(counts.originals),
      "originalBytes": .integer(counts.originalBytes),
      "renditions": .integer(counts.renditions),
      "renditionBytes": .integer(counts.renditionBytes),
      "paths": all(counts.sightings),
      "pathsOnDisk": all(Dictionary(uniqueKeysWithValues: onDisk(counts, session))),
      "jobs": .object(counts.jobs.mapValues(all)),
      "failures": .integer(failures),
      "orphans": .integer(counts.orphans),
      "withoutThumbnail": .object(gaps(counts.withoutThumbnail)),
      "freeBytes": .integer(free),
      "holder": JSONMembers.number(holder),
      "lastRun": counts.lastRun.map { .object(run($0)) } ?? .null,
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

  /// The most types, and the most reasons, that are shown of assets without a thumbnail.
  private static let mostShown = 3

  private static func describe(_ counts: ThumbnailGapCounts, _ console: Console) {
    if counts.assets == 0 { return }
    let unsupported = counts.groups.filter { $0.cause == .unsupported }
    var types = unsupported.prefix(mostShown).map {
      "\(($0.mediaType ?? "unknown").printable) \($0.assets)"
    }
    if unsupported.count > mostShown { types.append("…") }
    let causes = counts.causes.map { cause, assets in
      let detail = cause == .unsupported ? " (\(types.joined(separator: ", ")))" : ""
      return "\(assets) \(cause.words)\(detail)"
    }
    let number = counts.isPartial ? "more than \(counts.assets)" : "\(counts.assets)"
    console.result(
      "thumbnails  \(number) kept without a thumbnail: \(causes.joined(separator: ", ")); "
        + "`pipeline list is:no-thumbnail` lists them")
    for reason in counts.groups.compactMap(\.reason).prefix(mostShown) {
      console.result("            \(reason.printable)")
    }
  }

  /// The number of paths in the configured sources where a file is expected, by state.
  private static func onDisk(
    _ counts: StatusCounts, _ session: ReadingSession
  ) -> [(Sighting.State, Int)] {
    let sources = session.setup.configuration.sources.map(\.path)
    return Sighting.State.allCases.map { state in
      (state, sources.reduce(0) { $0 + (counts.pathsOnDisk[$1]?[state] ?? 0) })
    }
  }

  private static func run(_ run: RunRecord) -> [String: JSONValue] {
    var members = run.counters.mapValues { JSONValue.integer($0) }
    members["run"] = .string(run.id.description)
    members["verb"] = .string(run.verb)
    members["startedAt"] = JSONMembers.time(run.startedAt)
    members["endedAt"] = JSONMembers.time(run.endedAt)
    return members
  }

  private static func describe(
    _ counts: StatusCounts, _ failures: Int, _ free: Int, _ holder: Int?,
    _ session: ReadingSession, _ console: Console
  ) {
    console.result("library     \(session.setup.layout.root.printable)")
    console.result("assets      \(counts.assets)")
    console.result("originals   \(counts.originals), \(ByteSize(bytes: counts.originalBytes))")
    console.result("renditions  \(counts.renditions), \(ByteSize(bytes: counts.renditionBytes))")
    let paths = Sighting.State.allCases.compactMap { state in
      counts.sightings[state].map { "\($0) \(state.rawValue)" }
    }
    console.result("paths       \(paths.isEmpty ? "none" : paths.joined(separator: ", "))")
    let there = onDisk(counts, session).filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }
    console.result("on disk     \(there.isEmpty ? "none" : there.joined(separator: ", "))")
    for (stage, states) in counts.jobs.sorted(by: { $0.key < $1.key }) {
      let jobs = LedgerState.allCases.compactMap { state in
        states[state].map { "\($0) \(state.rawValue)" }
      }
      console.result("jobs        \(stage): \(jobs.joined(separator: ", "))")
    }
    if failures > 0 {
      console.result("failures    \(failures); `pipeline failed` lists them")
    }
    describe(counts.withoutThumbnail, console)
    if counts.orphans > 0 {
      console.result(
        "orphans     \(counted(counts.orphans, "sidecar")) without a picture; "
          + "`pipeline list is:orphan` lists them")
    }
    if let last = counts.lastRun {
      console.result("last run    \(last.startedAt.rfc3339), \(last.verb)")
    }
    console.result("free space  \(ByteSize(bytes: free))")
    if let holder { console.result("at work     process \(holder)") }
  }
}
