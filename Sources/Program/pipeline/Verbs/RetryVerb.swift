import Catalog
import LibrarySession

/// `pipeline retry`: makes failed jobs ready again.
enum RetryVerb: Verb {
  static let name = "retry"
  static let summary = "Make failed jobs ready again; the next run does them"
  static let operands = "[ID…]"
  static let all = Option(name: "--all", help: "all failed jobs")
  static let options = [all, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline retry 0197a2c4", "the jobs of one asset"),
    ("pipeline retry --all && pipeline run", "everything that failed"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    let names = context.arguments.operands
    let isAll = context.arguments.has(all)
    guard isAll != !names.isEmpty else {
      throw UsageError(
        isAll ? "Use either --all or IDs, not both." : "Name assets, or use --all.", verb: name)
    }
    let isDryRun = context.arguments.has(.dryRun)
    let (assets, planned) = try context.reading { session in
      let assets = try names.map { try session.asset($0).id }
      let failures = try isDryRun ? session.catalog.failures() : []
      return (assets, failures.count { isAll || assets.contains($0.asset) })
    }
    let count =
      isDryRun
      ? planned : try context.perform(.retry(assets: isAll ? nil : assets)).count("jobs")
    context.console.summary("retried", count, "job", "ready again", isDryRun: isDryRun)
    return .success
  }
}
