import Catalog
import Configuration
import Ingest
import PipelineModel

/// `pipeline run`: ingests complete files and runs ready jobs, once.
enum RunVerb: Verb {
  static let name = "run"
  static let summary = "Take everything complete in all sources, run all ready jobs, exit"
  static let options = [Option.wait, Option.dryRun, Option.acceptMissing]
  static let examples = [
    ("pipeline run", "with ./pipeline.json"),
    ("pipeline run --config /etc/pipeline/pipeline.json", "from cron: silent if all is well"),
    ("pipeline run --wait 5m", "let another run finish first"),
    ("pipeline run --dry-run", "report what would be ingested, change nothing"),
    ("pipeline run --accept-missing", "the missing files were removed on purpose"),
    ("pipeline run --json", "one JSON object for each file and job, and a summary"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    if context.arguments.has(.dryRun) { return try PreviewSession(context).run() }
    SignalHandler.shared.listen()
    CatalogLocks.busyHandler = ReportingBusyHandler(context.console, bound: nil)
    let locked = try LockedLibrary(context, makesLibrary: true)
    return try RunSession(context, verb: name, locked).run { ingest, session in
      try ingest.importSources(session.setup.configuration.sources)
    }
  }
}
