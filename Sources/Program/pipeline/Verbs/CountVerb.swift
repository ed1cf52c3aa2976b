import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query

/// `pipeline count`: counts the assets that a query finds.
enum CountVerb: Verb {
  static let name = "count"
  static let summary = "Count assets: all, or those that a query finds"
  static let operands = "[QUERY]"
  static let takesQuery = true
  static let options = [Option.groupBy]
  static let examples = [
    ("pipeline count", "all assets"),
    ("pipeline count type:raw -is:trashed", "raw files outside the trash"),
    ("pipeline count --group-by month", "by the month in which they were taken"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    let search = try context.assetSearch()
    if let grouping = try context.grouping() { return try group(search, by: grouping, context) }
    let session = try ReadingSession(context.search)
    let count: Int
    if search.isEverything {
      count = try session.catalog.assetCount()
    } else {
      count = try search.count(
        in: session.catalog, damaged: session.damagedAssets(for: search.filter))
      context.explain(found: count, by: search, in: session)
    }
    if context.console.isJSON {
      context.console.event("count", ["assets": .integer(count)])
    } else {
      context.console.result("\(count)")
    }
    return .success
  }

  /// Prints how many assets have each value.
  static func group(
    _ search: AssetSearch, by grouping: Grouping, _ context: Context
  ) throws -> ExitCode {
    let session = try ReadingSession(context.search)
    let groups = grouping.sorted(
      try search.groups(
        by: grouping, in: session.catalog, damaged: session.damagedAssets(for: search.filter)))
    for (key, count) in groups {
      try context.console.expectReader()
      if context.console.isJSON {
        context.console.event(
          "group", [grouping.name: JSONMembers.text(key), "assets": .integer(count)])
      } else {
        context.console.result("\(count)\t\(key?.printable ?? "-")")
      }
    }
    context.console.total(counted(groups.count, "group"))
    return .success
  }
}
