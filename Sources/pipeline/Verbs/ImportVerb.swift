import Catalog
import Configuration
import Ingest
import PipelineModel

/// `pipeline import`: copies files and folders into the library.
enum ImportVerb: Verb {
  static let name = "import"
  static let summary = "Copy just these files or folders in; they stay where they are"
  static let operands = "PATH…"
  static let options = [Option.wait]
  static let examples = [
    ("pipeline import photo.jpg", "one file"),
    ("pipeline import /media/card/DCIM", "a folder and its contents"),
    ("pipeline import -- -odd-name.jpg", "a name that begins with a dash"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    guard !context.arguments.operands.isEmpty else {
      throw UsageError("Name the files or folders to import.", verb: name)
    }
    if context.arguments.operands.contains(where: \.isEmpty) {
      throw UsageError("An empty path names no file.", verb: name)
    }
    let paths = context.arguments.operands.map(context.path)
    return try LibraryAccess(context, makesLibrary: true).perform { locked in
      SignalHandler.shared.listen()
      CatalogLocks.busyHandler = ReportingBusyHandler(context.console, bound: nil)
      return try RunSession(context, verb: name, locked).run { ingest, session in
        try ingest.copyIn(paths, sources: session.setup.configuration.sources)
        return []
      }
    } remotely: { client in
      try client.importPaths(paths, console: context.console)
    }
  }
}
