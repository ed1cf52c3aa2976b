import Ingest
import LibrarySession

/// `pipeline run`: imports complete files and runs ready jobs, once.
enum RunVerb: Verb {
  static let name = "run"
  static let summary = "Take everything complete in all sources, run all ready jobs, exit"
  static let options = [Option.wait, Option.dryRun, Option.acceptMissing, Option.metrics]
  static let examples = [
    ("pipeline run", "with ./pipeline.json"),
    ("pipeline run --config /etc/pipeline/pipeline.json", "from cron: silent if all is well"),
    ("pipeline run --wait 5m", "let another run finish first"),
    ("pipeline run --dry-run", "report what would be imported, change nothing"),
    ("pipeline run --accept-missing", "the missing files were removed on purpose"),
    (
      "pipeline run --metrics /var/lib/prometheus/node-exporter/pipeline.prom",
      "for node_exporter's textfile collector"
    ),
    ("pipeline run --json", "one JSON object for each file and job, and a summary"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    if context.arguments.has(.dryRun) { return try PlanVerb.preview(context) }
    let metrics = try context.metricsFile()
    SignalHandler.shared.listen()
    context.console.warnOfBusyCatalog(waitingAtMost: nil)
    let missing: SessionPrinter.MissingAnswer =
      context.arguments.has(.acceptMissing) ? .yes : context.console.canAsk ? .ask : .no
    let session = try RunSession(
      .open(context.search, wait: context.wait()), verb: name,
      output: SessionPrinter(context.console, missing: missing))
    let code = try session.run { try $0.importSources($1) }.report(on: context.console)
    return context.write(to: metrics, ending: code) { text in
      try ReadingSession(context.search).metrics().write(to: &text)
    }
  }
}
