import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// `list --since` and `list --follow`: lists what changes in the result of a query.
struct ChangeList {
  private let context: Context
  private let search: AssetSearch
  private let output: AssetOutput
  private var session: ReadingSession
  /// Where to go on; `nil` before everything was listed.
  private var revision: Revision?
  /// The result of a query, if it was listed whole: only what is in it can leave it.
  private var listed: Set<AssetID>?
  /// The last revision that was printed.
  private var printed: Revision?

  /// Returns `nil` if the command line asks for no changes.
  init?(_ search: AssetSearch, _ context: Context) throws {
    let arguments = context.arguments
    let since = arguments.value(.since)
    guard since != nil || arguments.has(.follow) else { return nil }
    for option in [Option.sort, .limit, .after, .groupBy, .explain]
    where arguments.path(option) != nil || arguments.has(option) {
      throw UsageError(
        "\(option.name) is for what there is: --since and --follow list changes as they come.",
        verb: arguments.verb)
    }
    if let since, since != "0" {
      guard let known = Revision(since) else {
        throw UsageError(
          "“\(since)” is no revision: write 0, or one that an earlier list printed.",
          verb: arguments.verb)
      }
      revision = known
    }
    self.context = context
    self.search = search
    output = try AssetOutput(context)
    session = try ReadingSession(context.search)
  }

  mutating func run() throws -> ExitCode {
    let wakeup = Wakeup()
    // Before the first look, so that nothing is missed in between.
    let watcher =
      context.arguments.has(.follow)
      ? CatalogWatcher(session.library.layout) { wakeup.wake() } : nil
    if revision == nil {
      try listAll()
    } else {
      output.begin()
      try listChanges()
    }
    if let watcher {
      SignalHandler.shared.listen { wakeup.wake() }
      try withExtendedLifetime(watcher) { try follow(wakeup) }
    }
    printRevision()
    if let revision, !output.isJSON {
      context.console.flush()
      context.console.message("Go on with --since \(revision).")
    }
    return SignalHandler.shared.exitCode ?? .success
  }

  /// Lists changes until a signal, or until the reader has gone.
  private mutating func follow(_ wakeup: Wakeup) throws {
    while true {
      context.console.flush()
      try context.console.lookForReader()
      // The watcher wakes it long before that.
      wakeup.sleep(until: .now + .seconds(60))
      if SignalHandler.shared.isStopRequested { return }
      try session.refresh()
      do {
        // The revision alone is read in microseconds.
        if try session.catalog.revision != revision { try listChanges() }
      } catch let error as CatalogError where error.code == .unknownRevision {
        if output.isJSON {
          context.console.event("restarted", [:])
        } else {
          context.console.message("The catalog was made anew: everything is listed again.")
        }
        try listAll()
      }
    }
  }

  private mutating func listAll() throws {
    // First the revision: what changes while the list is printed may be printed again.
    revision = try session.catalog.revision
    listed = search.filter == .everything ? nil : []
    _ = try ListVerb.printFound(by: search, in: session, output, context) { listed?.insert($0) }
    printRevision()
  }

  private mutating func listChanges() throws {
    var hasPrinted = false
    while let start = revision {
      let damage = try session.damage()
      let (page, assets) = try read(since: start, damaged: Set(damage.keys))
      for change in page.assets {
        try context.console.expectReader()
        switch change.outcome {
        case .found(let values):
          listed?.insert(change.id)
          let damage = damage[change.id] ?? []
          if let asset = assets[change.id] {
            output.print(asset, damage)
          } else {
            try output.print(change.id, values, damage, session.catalog)
          }
          hasPrinted = true
        case .notFound: hasPrinted = printRemoval(of: change.id, isDeleted: false) || hasPrinted
        case .deleted: hasPrinted = printRemoval(of: change.id, isDeleted: true) || hasPrinted
        }
      }
      revision = page.revision
      if page.isLast { break }
    }
    if hasPrinted { printRevision() }
  }

  /// Reads a page of changes, with the assets where whole ones are printed, as they were in one moment:
  /// what changes later comes once, with its own revision.
  private func read(
    since start: Revision, damaged: Set<AssetID>
  ) throws -> (SearchChanges, [AssetID: AssetRecord]) {
    try session.catalog.snapshot {
      let page = try search.changes(
        since: start, in: session.catalog, damaged: damaged, need: output.need)
      var assets: [AssetID: AssetRecord] = [:]
      for change in page.assets where output.need == .keys {
        if case .found = change.outcome { assets[change.id] = try session.catalog.asset(change.id) }
      }
      return (page, assets)
    }
  }

  /// Prints that an asset is not in the result, unless it is known that it never was.
  ///
  /// - Returns: whether something was printed.
  private mutating func printRemoval(of id: AssetID, isDeleted: Bool) -> Bool {
    if listed != nil, listed?.remove(id) == nil { return false }
    // Columns have no place for it.
    guard output.isJSON else { return false }
    context.console.event(
      "removed", ["id": .string(id.description), "deleted": .bool(isDeleted)])
    return true
  }

  /// Prints where to go on, unless that is what was printed last.
  private mutating func printRevision() {
    guard output.isJSON, let revision, revision != printed else { return }
    context.console.event("revision", ["revision": .string(revision.description)])
    printed = revision
  }
}
