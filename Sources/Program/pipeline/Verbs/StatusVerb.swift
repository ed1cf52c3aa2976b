import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Records

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
    let status = try ReadingSession(context.search).status()
    if context.console.isJSON {
      context.console.event("status", status.members)
    } else {
      describe(status, context.console)
    }
    return .success
  }

  private static func describe(_ status: LibraryStatus, _ console: Console) {
    let counts = status.counts
    console.result("library     \(status.root.printable)")
    console.result("assets      \(counts.assets)")
    let place = status.bucket.map { " in \($0)" } ?? ""
    console.result(
      "originals   \(counts.originals), \(ByteSize(bytes: counts.originalBytes))\(place)")
    console.result("renditions  \(counts.renditions), \(ByteSize(bytes: counts.renditionBytes))")
    let paths = Sighting.State.allCases.compactMap { state in
      counts.sightings[state].map { "\($0) \(state.rawValue)" }
    }
    console.result("paths       \(paths.isEmpty ? "none" : paths.joined(separator: ", "))")
    let there = status.onDisk.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }
    console.result("on disk     \(there.isEmpty ? "none" : there.joined(separator: ", "))")
    for (stage, states) in counts.jobs.sorted(by: { $0.key < $1.key }) {
      let jobs = LedgerState.allCases.compactMap { state in
        states[state].map { "\($0) \(state.rawValue)" }
      }
      console.result("jobs        \(stage): \(jobs.joined(separator: ", "))")
    }
    if status.failures > 0 {
      console.result("failures    \(status.failures); `pipeline failed` lists them")
    }
    if counts.orphans > 0 {
      console.result(
        "orphans     \(counted(counts.orphans, "sidecar")) without a picture; "
          + "`pipeline list is:orphan` lists them")
    }
    describe(counts.withoutThumbnail, console)
    if let last = counts.lastRun {
      console.result("last run    \(last.startedAt.rfc3339), \(last.verb)")
    }
    console.result("free space  \(ByteSize(bytes: status.free))")
    if let holder = status.holder { console.result("at work     process \(holder)") }
  }

  /// The most types, and the most reasons, that are shown of assets without a thumbnail.
  private static let mostShown = 3

  private static func describe(_ counts: ThumbnailGapCounts, _ console: Console) {
    if counts.assets == 0 {
      if counts.isPartial {
        console.result(
          "thumbnails  `pipeline list is:no-thumbnail` lists what is kept without one; too many "
            + "files have been skipped to count it here")
      }
      return
    }
    let causes = counts.causes.map { cause, assets in
      "\(assets) \(cause.words)\(types(of: cause, in: counts))"
    }
    let number = counts.isPartial ? "at least \(counts.assets)" : "\(counts.assets)"
    console.result(
      "thumbnails  \(number) kept without a thumbnail: \(causes.joined(separator: ", ")); "
        + "`pipeline list is:no-thumbnail` lists them")
    for reason in counts.groups.compactMap(\.reason).prefix(mostShown) {
      console.result("            \(reason.printable)")
    }
  }

  /// The most frequent types of a cause that depends on the type, in brackets; empty for others.
  private static func types(
    of cause: ThumbnailGap.Cause, in counts: ThumbnailGapCounts
  ) -> String {
    guard [.unsupported, .excluded].contains(cause) else { return "" }
    let groups = counts.groups.filter { $0.cause == cause }
    var types = groups.prefix(mostShown).map {
      "\(($0.mediaType ?? "unknown").printable) \($0.assets)"
    }
    if groups.count > mostShown { types.append("…") }
    return " (\(types.joined(separator: ", ")))"
  }
}
