import Ingest
import LibraryControl
import LibrarySession
import PipelineModel

/// `pipeline rebuild-catalog`: rebuilds the catalog from the manifest.
enum RebuildCatalogVerb: Verb {
  static let name = "rebuild-catalog"
  static let summary = "Make the catalog again from manifest and originals"
  static let options = [Option.wait]
  static let examples = [
    ("pipeline rebuild-catalog", "the old catalog is kept next to the new one")
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    // `watch` finishes its jobs before it releases the library.
    let library = try ConfiguredLibrary(context.search, makesLibrary: false)
    let wait = try context.wait()
    let access = LibraryAccess(library, wait: wait.duration, patience: .seconds(20))
    let result = try access.perform { locked in
      defer { context.console.wipe() }
      let progress = StepProgress(context.console)
      return try withExtendedLifetime(locked.lock) {
        try CatalogRebuild(library.found).run { progress.draw("\($0) of \($1) facts read") }
      }
    } remotely: { client in
      do {
        _ = try client.ask(.letGo, report: RunReport(SessionPrinter(context.console)))
      } catch let failure as RequestFailure where failure.kind == .locked && wait.milliseconds > 0 {
        // A run can't release the library: wait until it ends.
      }
      return nil
    }
    let kept = result.oldCatalog.map { "; the old one is \($0.printable)" } ?? ""
    context.console.summary(
      "rebuilt",
      [
        "assets": .integer(result.assets),
        "oldCatalog": JSONMembers.text(result.oldCatalog?.description),
      ],
      "\(counted(result.assets, "asset")) recorded again\(kept). The next run makes thumbnails.")
    return .success
  }
}
