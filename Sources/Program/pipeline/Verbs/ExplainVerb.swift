import Catalog
import Configuration
import Files
import Ingest
import LibrarySession
import PipelineModel
import Records

/// `pipeline explain`: prints the state of one path or asset, with the reason.
enum ExplainVerb: Verb {
  static let name = "explain"
  static let summary = "Say what became of a path or an asset, and why"
  static let operands = "PATH|ID"
  static let examples = [
    ("pipeline explain inbox/photo.jpg", "a file, whether it still exists or not"),
    ("pipeline explain 0197a2c4", "an asset and its jobs"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let operand = try context.operand(0, "PATH or ID")
    // As it is recorded of another machine.
    let isElsewhere = MachinePath.machine(of: operand) != nil
    let typed = isElsewhere ? operand : context.path(operand)
    let path = FileSystem.resolvingFolders(of: typed)
    guard let session = try ReadingSession.ifPresent(context.search) else {
      let setup = try LibrarySetup(context.search)
      say(path, setup.explanation(of: path, typed: typed), context.console)
      return .success
    }
    // A source's configured path may contain symbolic links.
    var sightings = try session.catalog.sightings(
      path: isElsewhere ? typed : session.setup.recorded(typed))
    if sightings.isEmpty {
      sightings = try session.catalog.sightings(path: session.setup.recorded(path))
    }
    if !sightings.isEmpty {
      for sighting in sightings { try explain(sighting, session, context.console) }
      return .success
    }
    if let asset = try asset(operand, session) {
      try explain(asset, session, context.console)
      return .success
    }
    say(path, session.setup.explanation(of: path, typed: typed), context.console)
    return .success
  }

  /// The asset with this ID, or `nil` if the word is a path.
  private static func asset(_ word: BytePath, _ session: ReadingSession) throws -> AssetRecord? {
    if word.bytes.contains(UInt8(ascii: "/")) { return nil }
    do {
      return try session.asset(word)
    } catch let error as SessionError where error.code == .noAsset {
      return nil
    }
  }

  private static func explain(
    _ sighting: Sighting, _ session: ReadingSession, _ console: Console
  ) throws {
    var shown = session.setup.local(sighting.source).appending(sighting.path)
    // Ignored folders are recorded with a trailing slash.
    if sighting.path.bytes.last == UInt8(ascii: "/") {
      shown = BytePath(bytes: shown.bytes.dropLast())
    }
    say(shown, session.setup.explanation(of: shown, known: sighting), console)
    if let id = sighting.asset, let asset = try session.catalog.asset(id) {
      try explain(asset, session, console)
    }
  }

  private static func explain(
    _ asset: AssetRecord, _ session: ReadingSession, _ console: Console
  ) throws {
    let jobs = try session.catalog.jobs(of: asset.id)
    let damage = try session.damage()[asset.id] ?? []
    if console.isJSON {
      var members = JSONMembers.asset(asset, damage: damage)
      members["jobs"] = .array(jobs.map { .object(JSONMembers.job($0)) })
      return console.event("asset", members)
    }
    // An asset is done even if stages skipped it, so mention those.
    let skipped = jobs.count { $0.state == .skipped }
    let without = skipped == 0 ? "" : ", but \(skipped) of \(jobs.count) stages skipped it"
    console.result(
      "asset \(asset.id) (\(asset.name.printable)) is \(asset.state.rawValue)\(without)")
    for entry in damage {
      console.result("  \(entry.kind.rawValue), found \(entry.foundAt.rfc3339): \(entry.message)")
    }
    for job in jobs {
      let reason = job.reason.map { ": \($0)" } ?? ""
      console.result("  \(job.stage) is \(job.state.rawValue)\(reason)\(next(job))")
    }
  }

  /// When a failed job will be retried.
  private static func next(_ job: JobRecord) -> String {
    if job.state == .failed {
      return
        " (retried when its plugin, decoder, options or limits change, or after "
        + "`pipeline retry`)"
    }
    guard job.failureClass != nil, let time = job.notBefore else { return "" }
    return " (retried after \(time.rfc3339))"
  }

  private static func say(_ path: BytePath, _ explanation: PathExplanation, _ console: Console) {
    if console.isJSON {
      return console.event("path", JSONMembers.explanation(explanation, of: path))
    }
    let reason = explanation.reason.map { ": \($0)" } ?? ""
    console.result("\(path.printable) is \(explanation.state)\(reason)")
    if explanation.hasChanged { console.result("  It has changed since.") }
    console.result("  \(explanation.next)")
  }
}
