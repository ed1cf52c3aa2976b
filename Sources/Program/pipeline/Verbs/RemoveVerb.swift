import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query

/// `pipeline rm`: puts assets into the trash.
enum RemoveVerb: Verb {
  static let name = "rm"
  static let summary = "Put assets into the trash; `trash` brings them back or empties it"
  static let operands = "ID… | QUERY"
  static let takesQuery = true
  static let options = [Option.yes, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline rm 0197a2c4", "one asset, by the beginning of its ID"),
    ("pipeline rm 3f9c 51d0 && pipeline trash empty", "two assets, for good"),
    ("pipeline rm 'rating=-1' --dry-run", "how many are marked as rejected"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    guard !context.arguments.operands.isEmpty else {
      throw UsageError("Name the assets to put into the trash.", verb: name)
    }
    let assets = try context.namedAssets(where: .not(.flag(.trashed)))
    let isDryRun = context.arguments.has(.dryRun)
    var count = 0
    if isDryRun {
      count = try context.reading { session in
        try Set(assets.ids).count { try session.catalog.asset($0)?.state != .trashed }
      }
    } else {
      if case .found(let found) = assets {
        let question = "Put \(counted(found.count, "asset")) into the trash?"
        guard try context.isConfirmed(found.count, question) else { return .success }
      }
      count = try context.perform(for: assets.ids, counting: "assets") { .trash($0) }
    }
    context.console.summary("trashed", count, "asset", "put into the trash", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }
}
