import Catalog
import LibrarySession
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
    let isDryRun = context.arguments.has(.dryRun)
    let assets = try context.reading { try context.arguments.operands.map($0.asset) }
    let count =
      isDryRun
      ? Set(assets.filter { $0.state != .trashed }.map(\.id)).count
      : try context.perform(.trash(assets.map(\.id))).count("assets")
    context.console.summary("trashed", count, "asset", "put into the trash", isDryRun: isDryRun)
    return .success
  }
}
