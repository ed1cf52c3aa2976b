import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Records

/// `pipeline show`: prints everything known about one asset.
enum ShowVerb: Verb {
  static let name = "show"
  static let summary = "Show one asset with its paths, jobs, facts and renditions"
  static let operands = "ID"
  static let examples = [
    ("pipeline show 0197a2c4", "by the beginning of its ID"),
    ("pipeline show --json 3f9c", "as JSON, by the end of its ID"),
  ]

  /// The most characters of a fact shown without `--json`.
  private static let longestFact = 500

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let text = try context.operand(0, "ID")
    let session = try ReadingSession(context.search)
    let whole = try session.whole(session.asset(text))
    if context.console.isJSON {
      context.console.event("asset", whole.members)
    } else {
      describe(whole, context.console)
    }
    return .success
  }

  private static func describe(_ whole: WholeAsset, _ console: Console) {
    let asset = whole.asset
    console.result("\(asset.name.printable)")
    console.result("  id        \(asset.id)")
    console.result("  sha-256   \(asset.digest)")
    console.result("  size      \(ByteSize(bytes: asset.size)) (\(asset.size) bytes)")
    console.result("  imported  \(asset.importedAt.rfc3339)")
    console.result("  state     \(asset.state.rawValue)")
    for entry in whole.damage {
      console.result(
        "  damage    \(entry.kind.rawValue), found \(entry.foundAt.rfc3339): \(entry.message)")
    }
    for annotation in asset.annotations {
      let name = annotation.property.rawValue
      let text = annotation.text.shortened(to: longestFact).printable
      console.result(
        "  \(name.padded(to: 9)) \(text)\(annotation.applies ? "" : " (taken away)")")
    }
    for sighting in whole.sightings {
      let path = sighting.source.appending(sighting.path).printable
      console.result("  path      \(path) (\(sighting.state.rawValue))")
    }
    if asset.group?.role == .orphan {
      console.result("  group     none: no picture for this sidecar")
    } else if let place = asset.group {
      console.result(
        "  group     \(place.role.rawValue) of \(place.kinds.map(\.rawValue).joined(separator: ", "))"
      )
    }
    for companion in whole.group where companion.id != asset.id {
      console.result(
        "  member    \(companion.id) \(companion.role.rawValue) \(companion.name.printable)")
    }
    if let cover = asset.cover {
      console.result("  burst     \(counted(whole.burst.count, "shot"))")
      for shot in whole.burst {
        let role = shot.id == cover ? "cover" : "frame"
        console.result("  \(role)     \(shot.id) \(shot.name.printable)")
      }
    }
    for job in whole.jobs {
      let reason = job.reason.map { ": \($0)" } ?? ""
      console.result("  job       \(job.stage) \(job.state.rawValue)\(reason)")
    }
    if let gap = asset.withoutThumbnail {
      console.result("  thumbnail none, \(gap.cause.words): \(gap.reason.printable)")
    }
    for rendition in asset.renditions {
      let stale = rendition.isStale ? ", stale" : ""
      let damaged = rendition.from == "damaged" ? ", of a damaged picture" : ""
      console.result(
        "  rendition \(rendition.stage)/\(rendition.name) \(rendition.width)x\(rendition.height) "
          + "\(rendition.mediaType) \(ByteSize(bytes: rendition.bytes))\(damaged)\(stale)")
    }
    for (stage, value) in whole.facts.sorted(by: { $0.key < $1.key }) {
      for (name, fact) in (value.object ?? [:]).sorted(by: { $0.key < $1.key }) {
        // Decoded from JSON, so it can be encoded.
        let text = ((try? JSONText.encode(fact)) ?? "").shortened(to: longestFact)
        console.result("  fact      \(stage).\(name.shortened(to: longestFact)) \(text)")
      }
    }
  }
}
