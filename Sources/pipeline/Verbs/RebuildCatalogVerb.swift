import Ingest
import PipelineModel

/// `pipeline rebuild-catalog`: makes the catalog again from the manifest.
enum RebuildCatalogVerb: Verb {
  static let name = "rebuild-catalog"
  static let summary = "Make the catalog again from manifest and originals"
  static let options = [Option.wait]
  static let examples = [
    ("pipeline rebuild-catalog", "the old catalog is kept beside the new one")
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let surroundings = try Surroundings(context)
    let library = try LibraryFolder.open(surroundings.layout)
    try surroundings.checkFileSystem()
    let lock = try library.lock(wait: try context.wait())
    let result = try withExtendedLifetime(lock) { try CatalogRebuild(library).run() }
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
        "\(counted(result.assets, "asset")) recorded again\(kept). Thumbnails are made by the next run."
      )
    }
    return .success
  }
}
