import Catalog
import LibraryControl
import LibrarySession
import Records

/// `pipeline retry`: makes failed jobs ready again.
enum RetryVerb: Verb {
  static let name = "retry"
  static let summary = "Make failed jobs ready again; the next run does them"
  static let operands = "[ID… | QUERY]"
  static let takesQuery = true
  static let all = Option(name: "--all", help: "all failed jobs")
  static let options = [all, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline retry 0197a2c4", "the jobs of one asset"),
    ("pipeline retry type:raw imported:today", "those of what a query finds"),
    ("pipeline retry --all && pipeline run", "everything that failed"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    let isAll = context.arguments.has(all)
    guard isAll != !context.arguments.operands.isEmpty else {
      throw UsageError(
        isAll
          ? "Use either --all or name assets, not both." : "Name assets, or use --all.",
        verb: name)
    }
    let isDryRun = context.arguments.has(.dryRun)
    let assets = isAll ? nil : try context.namedAssets().ids
    let count: Int
    if isDryRun {
      let wanted = assets.map { Set($0) }
      count = try context.reading { session in
        try session.catalog.failures().count { wanted?.contains($0.asset) ?? true }
      }
    } else if let assets {
      count = try context.perform(for: assets, counting: "jobs") { .retry(assets: $0) }
    } else {
      count = try context.perform(.retry(assets: nil)).count("jobs")
    }
    context.console.summary("retried", count, "job", "ready again", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }
}
