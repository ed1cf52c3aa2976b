import Ingest
import LibraryControl
import LibrarySession
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
    let output = SessionPrinter(context.console)
    func copy(into place: SessionPlace) throws -> ExitCode {
      SignalHandler.shared.listen()
      context.console.warnOfBusyCatalog(waitingAtMost: nil)
      return try RunSession(place, verb: name, output: output).run { ingest, sources in
        try ingest.copyIn(paths, sources: sources)
        return []
      }.report(on: context.console)
    }
    if let place = try JoinedPlace(context.search) { return try copy(into: .joined(place)) }
    let library = try ConfiguredLibrary(context.search, makesLibrary: true)
    return try LibraryAccess(library, wait: context.wait().duration).perform { locked in
      try copy(into: .locked(locked))
    } remotely: { client in
      try client.importPaths(paths, output: output)?.report(on: context.console)
    }
  }
}
