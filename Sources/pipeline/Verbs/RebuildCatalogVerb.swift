import Ingest
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
    let access = try LibraryAccess(context, makesLibrary: false, patience: .seconds(20))
    let isPatient = try context.wait().milliseconds > 0
    let result = try access.perform { locked in
      defer { context.console.wipe() }
      let progress = RebuildProgress(context.console)
      return try withExtendedLifetime(locked.lock) {
        try CatalogRebuild(locked.found).run(progress: progress.draw)
      }
    } remotely: { client in
      do {
        _ = try client.ask(.letGo, report: RunReport(console: context.console))
      } catch let failure as RequestFailure where failure.exitCode == 11 && isPatient {
        // A run can't release the library: wait until it ends.
      }
      return nil
    }
    let kept = result.oldCatalog.map { "; the old one is \($0.printable)" } ?? ""
    if context.console.isJSON {
      context.console.event(
        "rebuilt",
        [
          "assets": .integer(result.assets),
          "oldCatalog": JSONMembers.text(result.oldCatalog?.description),
        ])
    } else if context.console.isTerminal || context.console.isVerbose {
      context.console.message(
        "\(counted(result.assets, "asset")) recorded again\(kept). The next run makes thumbnails."
      )
    }
    return .success
  }
}
