import Catalog
import Configuration
import Files
import Ingest
import PipelineModel

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
    let typed = context.path(operand)
    let path = resolved(typed)
    guard let session = try open(context) else {
      let setup = try LibrarySetup(context)
      explainUnseen(typed, path, setup, context.console)
      return .success
    }
    // A source's configured path may contain symbolic links.
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
    explainUnseen(typed, path, session.setup, context.console)
    return .success
  }

  /// The asset with this ID, or `nil` if the word is a path.
  private static func asset(_ word: BytePath, _ session: ReadingSession) throws -> AssetRecord? {
    if word.bytes.contains(UInt8(ascii: "/")) { return nil }
    do {
      return try session.asset(word)
    } catch is UsageError {
      return nil
    }
  }

  /// Opens the library; returns `nil` if it does not exist or is still empty.
  private static func open(_ context: Context) throws -> ReadingSession? {
    do {
      return try ReadingSession(context)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  /// - Parameter path: the typed path with symbolic links resolved.
  private static func explainUnseen(
    _ typed: BytePath, _ path: BytePath, _ setup: LibrarySetup, _ console: Console
  ) {
    let home = home(of: typed, in: setup) ?? home(of: path, in: setup)
    let found = PathOnDisk(
      home.map { $0.source.path.appending($0.path) } ?? path, home: home,
      library: libraryFolders(setup))
    say(path, PathExplanation(known: nil, found: found, source: home?.source), console)
  }

  /// The configured source that contains a path.
  private static func home(
    of path: BytePath, in setup: LibrarySetup
  ) -> (source: SourceConfiguration, path: BytePath)? {
    setup.configuration.sources.lazy
      .compactMap { source in path.relative(to: source.path).map { (source, $0) } }.first
  }

  private static func libraryFolders(_ setup: LibrarySetup) -> [BytePath] {
    let layout = setup.layout
    // The configured catalog folder may contain other files, but no run scans them.
    return layout.catalogFolder == layout.root
      ? [layout.root] : [layout.root, layout.catalogFolder]
  }

  /// Resolves symbolic links in the path's folders, if they exist.
  private static func resolved(_ path: BytePath) -> BytePath {
    // A missing folder can't be resolved, so use the path as it is.
    guard let parent = try? FileSystem.realPath(of: path.parent) else { return path }
    return parent.appending(path.lastComponent)
  }

  private static func explain(
    _ sighting: Sighting, _ session: ReadingSession, _ console: Console
  ) throws {
    var shown = sighting.source.appending(sighting.path)
    // Ignored folders are recorded with a trailing slash.
    if sighting.path.bytes.last == UInt8(ascii: "/") {
      shown = BytePath(bytes: shown.bytes.dropLast())
    }
    let home = home(of: shown, in: session.setup)
    let found = PathOnDisk(shown, home: home, library: libraryFolders(session.setup))
    say(
      shown, PathExplanation(known: sighting, found: found, source: home?.source), console)
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
