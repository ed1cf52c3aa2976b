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
    let typed = context.path(operand)
    let path = resolved(typed)
    guard let session = try open(context) else {
      let surroundings = try Surroundings(context)
      explainUnseen(typed, path, surroundings, context.console)
      return .success
    }
    // A source may be configured by a path with links in it.
    var sightings = try session.catalog.sightings(path: typed)
    if sightings.isEmpty { sightings = try session.catalog.sightings(path: path) }
    if !sightings.isEmpty {
      for sighting in sightings { try explain(sighting, session, context.console) }
      return .success
    }
    if let asset = try asset(operand, session) {
      try explain(asset, session, context.console)
      return .success
    }
    explainUnseen(typed, path, session.surroundings, context.console)
    return .success
  }

  /// The asset that a word is an ID of, or `nil` if it is a path.
  private static func asset(_ word: BytePath, _ session: ReadingSession) throws -> AssetRecord? {
    if word.bytes.contains(UInt8(ascii: "/")) { return nil }
    do {
      return try session.asset(word)
    } catch is UsageError {
      return nil
    }
  }

  /// The library, or `nil` if it is a new one that nothing was taken into yet.
  private static func open(_ context: Context) throws -> ReadingSession? {
    do {
      return try ReadingSession(context)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  /// - Parameter path: the same as what was typed, with links resolved.
  private static func explainUnseen(
    _ typed: BytePath, _ path: BytePath, _ surroundings: Surroundings, _ console: Console
  ) {
    let home = home(of: typed, in: surroundings) ?? home(of: path, in: surroundings)
    let look = DiskLook(
      home.map { $0.source.path.appending($0.path) } ?? path, home: home,
      library: libraryFolders(surroundings))
    say(path, PathExplanation(known: nil, look: look, source: home?.source), console)
  }

  /// The configured source that a path is in.
  private static func home(
    of path: BytePath, in surroundings: Surroundings
  ) -> (source: SourceConfiguration, path: BytePath)? {
    surroundings.configuration.sources.lazy
      .compactMap { source in path.relative(to: source.path).map { (source, $0) } }.first
  }

  private static func libraryFolders(_ surroundings: Surroundings) -> [BytePath] {
    let layout = surroundings.layout
    // The configured catalog folder may hold other things, but no run looks at them.
    return layout.catalogFolder == layout.root
      ? [layout.root] : [layout.root, layout.catalogFolder]
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
    var shown = sighting.source.appending(sighting.path)
    // An ignored folder is known with a slash behind its name.
    if sighting.path.bytes.last == UInt8(ascii: "/") {
      shown = BytePath(bytes: shown.bytes.dropLast())
    }
    let home = home(of: shown, in: session.surroundings)
    let look = DiskLook(shown, home: home, library: libraryFolders(session.surroundings))
    say(
      shown, PathExplanation(known: sighting, look: look, source: home?.source), console)
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
    // A stage that does not work on a file leaves it done, which says nothing of the stage.
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

  /// What comes next for a job that did not succeed.
  private static func next(_ job: JobRecord) -> String {
    if job.state == .failed {
      return
        " (tried again when its plugin, decoder, options or limits change, or after "
        + "`pipeline retry`)"
    }
    guard job.failureClass != nil, let time = job.notBefore else { return "" }
    return " (tried again after \(time.rfc3339))"
  }

  private static func say(_ path: BytePath, _ explanation: PathExplanation, _ console: Console) {
    if console.isJSON {
      return console.event("path", JSONMembers.explanation(explanation, of: path))
    }
    let reason = explanation.reason.map { ": \($0)" } ?? ""
    console.result("\(path.printable) is \(explanation.state)\(reason)")
    if explanation.hasChanged { console.result("  It is not what it was then.") }
    console.result("  \(explanation.next)")
  }
}
