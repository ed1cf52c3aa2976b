import Catalog
import Ingest
import PipelineModel

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
    let reading = try ReadingSession(context)
    let assets = try names.map { try reading.asset($0).id }
    if context.arguments.has(.dryRun) {
      let failures = try reading.catalog.failures().filter { isAll || assets.contains($0.asset) }
      return report(failures.count, "would be ready again", context.console, isDryRun: true)
    }
    // Close first: the last connection to close checkpoints the catalog's log.
    try reading.catalog.close()
    let result = try RequestSession(context).perform(.retry(assets: isAll ? nil : assets))
    return report(result.count("jobs"), "ready again", context.console)
  }

  private static func report(
    _ count: Int, _ what: String, _ console: Console, isDryRun: Bool = false
  ) -> ExitCode {
    console.summary(
      "retried", ["jobs": .integer(count)], "\(counted(count, "job")) \(what).",
      isDryRun: isDryRun)
    return .success
  }
}
