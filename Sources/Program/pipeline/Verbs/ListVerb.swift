import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// `pipeline list`: lists the assets that a query finds.
enum ListVerb: Verb {
  static let name = "list"
  static let summary = "List assets: all, oldest import first, or those that a query finds"
  static let operands = "[QUERY]"
  static let takesQuery = true
  static let options = [
    Option.sort, .limit, .after, .groupBy, .fields, .format, .explain, .since, .follow,
  ]
  static let examples = [
    ("pipeline list", "a line for each"),
    ("pipeline list camera:fuji taken:2024-05", "what a camera took in a month; see help query"),
    ("pipeline list --sort -taken --limit 50", "the latest pictures"),
    ("pipeline list --explain 'iso>800'", "what a query means, and what answering it reads"),
    ("pipeline list --group-by camera", "how many pictures each camera took"),
    ("pipeline list --fields name,taken,tag --format csv", "for a spreadsheet"),
    ("pipeline list --json | jq -r .name", "their names"),
    ("pipeline list --follow is:failed", "what failed, and what fails from now on"),
    ("pipeline list --json --since 0", "everything, and the revision to continue from"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    let search = try context.assetSearch()
    if var changes = try ChangeList(search, context) { return try changes.run() }
    if context.arguments.has(.explain) { return try context.explain(search) }
    if let grouping = try context.grouping() {
      return try CountVerb.group(search, by: grouping, context)
    }
    let output = try AssetOutput(context)
    let session = try ReadingSession(context.search)
    let count = try printFound(by: search, in: session, output, context)
    context.explain(found: count, by: search, in: session)
    context.console.total(counted(count, "asset"))
    return .success
  }

  /// Prints what a search finds, and calls a body for each asset.
  ///
  /// - Returns: the number of assets.
  static func printFound(
    by search: AssetSearch, in session: ReadingSession, _ output: AssetOutput, _ context: Context,
    _ body: (AssetID) -> Void = { _ in }
  ) throws -> Int {
    let damage = try session.damage()
    var count = 0
    func found(_ id: AssetID) {
      count += 1
      body(id)
    }
    if search.isEverything, output.isWholeLines {
      try session.catalog.assets { asset in
        try context.console.expectReader()
        output.print(asset, damage[asset.id] ?? [])
        found(asset.id)
      }
      return count
    }
    if search.isEverything, output.isWholeJSON {
      try session.catalog.assetLines { id, line in
        try context.console.expectReader()
        found(id)
        if let line, damage[id] == nil, context.console.event(line: line) { return }
        try output.print(id, nil, damage[id] ?? [], session.catalog)
      }
      return count
    }
    output.begin()
    try search.run(
      in: session.catalog, damaged: Set(damage.keys), need: output.need
    ) { id, values in
      try context.console.expectReader()
      try output.print(id, values, damage[id] ?? [], session.catalog)
      found(id)
    }
    return count
  }
}
