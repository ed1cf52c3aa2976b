import Catalog
import Ingest
import PipelineModel

/// `pipeline rm`: puts assets into the trash.
enum RemoveVerb: Verb {
  static let name = "rm"
  static let summary = "Put assets into the trash; `trash` brings them back or empties it"
  static let operands = "ID…"
  static let options = [Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline rm 0197a2c4", "one asset, by the beginning of its ID"),
    ("pipeline rm 3f9c 51d0 && pipeline trash empty", "two assets, for good"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    guard !context.arguments.operands.isEmpty else {
      throw UsageError("Name the assets to put into the trash.", verb: name)
    }
    let reading = try ReadingSession(context)
    let assets = try context.arguments.operands.map { try reading.asset($0) }
    if context.arguments.has(.dryRun) {
      let count = Set(assets.filter { $0.state != .trashed }.map(\.id)).count
      return report(count, "would be put into the trash", context.console, isDryRun: true)
    }
    // Close first: the last connection to close checkpoints the catalog's log.
    try reading.catalog.close()
    let result = try RequestSession(context).perform(.trash(assets.map(\.id)))
    return report(result.count("assets"), "put into the trash", context.console)
  }

  private static func report(
    _ count: Int, _ what: String, _ console: Console, isDryRun: Bool = false
  ) -> ExitCode {
    console.summary(
      "trashed", ["assets": .integer(count)], "\(counted(count, "asset")) \(what).",
      isDryRun: isDryRun)
    return .success
  }
}
