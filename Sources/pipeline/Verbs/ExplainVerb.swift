import Catalog
import Configuration
import Files
import Ingest
import PipelineModel

/// `pipeline explain`: the state of one path or asset, and why.
enum ExplainVerb: Verb {
  static let name = "explain"
  static let summary = "Say what became of a path or an asset, and why"
  static let operands = "PATH|ID"
  static let examples = [
    ("pipeline explain inbox/photo.jpg", "a file, whether it is still there or not"),
    ("pipeline explain 0197a2c4", "an asset and its jobs"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let operand = try context.operand(0, "PATH or ID")
    let session = try ReadingSession(context)
    let typed = context.workingFolder.appending(operand).normalized
    let path = resolved(typed)
    // A source may be configured by a path with links in it.
    var sightings = try session.catalog.sightings(path: typed)
    if sightings.isEmpty { sightings = try session.catalog.sightings(path: path) }
    if !sightings.isEmpty {
      for sighting in sightings { try explain(sighting, session, context.console) }
      return .success
    }
    if let asset = try? session.asset(operand), !operand.bytes.contains(UInt8(ascii: "/")) {
      try explain(asset, session, context.console)
      return .success
    }
    let unseen = UnseenPath(path: typed, configuration: session.surroundings.configuration)
    say(path, state: unseen.state, reason: unseen.reason, context.console)
    return .success
  }

  /// The path with links in its folders resolved, as far as they exist.
  private static func resolved(_ path: BytePath) -> BytePath {
    // A folder that is gone can't be resolved and is taken by its name.
    guard let parent = try? FileSystem.realPath(of: path.parent) else { return path }
    return parent.appending(path.lastComponent)
  }

  private static func explain(
    _ sighting: Sighting, _ session: ReadingSession, _ console: Console
  ) throws {
    let path = sighting.source.appending(sighting.path)
    say(
      path, state: sighting.state.rawValue, reason: sighting.reason, asset: sighting.asset,
      seenAt: sighting.seenAt, console)
    if let id = sighting.asset, let asset = try session.catalog.asset(id) {
      try explain(asset, session, console)
    }
  }

  private static func explain(
    _ asset: AssetRecord, _ session: ReadingSession, _ console: Console
  ) throws {
    let jobs = try session.catalog.jobs(of: asset.id)
    if console.isJSON {
      var members = JSONMembers.asset(asset)
      members["jobs"] = .array(jobs.map { .object(JSONMembers.job($0)) })
      return console.event("asset", members)
    }
    console.result("asset \(asset.id) (\(asset.name.printable)) is \(asset.state.rawValue)")
    for job in jobs {
      let reason = job.reason.map { ": \($0)" } ?? ""
      console.result("  \(job.stage) is \(job.state.rawValue)\(reason)")
    }
  }

  private static func say(
    _ path: BytePath, state: String, reason: String?, asset: AssetID? = nil,
    seenAt: Timestamp? = nil, _ console: Console
  ) {
    if console.isJSON {
      var members: [String: JSONValue] = [
        "state": .string(state), "reason": JSONMembers.text(reason),
        "asset": JSONMembers.text(asset?.description), "seenAt": JSONMembers.time(seenAt),
      ]
      members.merge(JSONMembers.path(path)) { $1 }
      return console.event("path", members)
    }
    console.result("\(path.printable) is \(state)\(reason.map { ": \($0)" } ?? "")")
  }
}
