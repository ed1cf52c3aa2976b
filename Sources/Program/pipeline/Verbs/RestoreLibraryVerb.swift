import Configuration
import Ingest
import LibrarySession
import PipelineModel
import Records

/// `pipeline restore-library`: makes the library's folder again from its bucket.
enum RestoreLibraryVerb: Verb {
  static let name = "restore-library"
  static let summary = "Make the folder of a library that is lost from what its bucket has"
  static let options: [Option] = []
  static let examples = [
    ("pipeline restore-library", "the library that pipeline.json names, if its folder is missing")
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let setup = try LibrarySetup(context.search)
    guard let bucket = setup.configuration.originals else {
      throw UsageError(
        "A library is restored from the bucket of its originals: set \"originals\" in pipeline.json.",
        verb: name)
    }
    if setup.configuration.node.joins {
      throw UsageError(
        "This machine joins a library, so another one has its folder. To take its place, remove \"joins\" from "
          + "pipeline.json, and end the other one for good.", verb: name)
    }
    // Where the database can't be asked, the library may well be lost.
    if let holder = try? LibraryParticipants(context.search).holder() {
      throw IngestError(
        .locked,
        "`\(holder.verb)` on \(holder.node) (process \(holder.process)) works with the library's folder, so that is "
          + "not lost; nothing was done. To take that machine's place, end its processes for good first."
      )
    }
    let signals = SignalHandler.shared
    signals.listen()
    let restored = try {
      defer { context.console.wipe() }
      let progress = StepProgress(context.console)
      return try LibraryFolder.restore(setup.layout, from: bucket) {
        progress.draw("\($0) of \($1) segments of the manifest read")
      } isStopped: {
        signals.isStopRequested
      }
    }()
    if let warning = restored.warning { context.console.warning(warning) }
    context.console.summary(
      "restored",
      [
        "library": .string(restored.library), "segments": .integer(restored.segments),
        "facts": .integer(Int(restored.facts)),
        "factsOfCatalog": .integer(Int(restored.factsOfCatalog)),
        "newest": restored.newest.map { .string($0.rfc3339) } ?? .null,
      ],
      "The library \(restored.library) is in \(setup.layout.root.printable) again, with all that its manifest had"
        + (restored.newest.map { " at \($0.rfc3339)" } ?? "")
        + (restored.factsOfCatalog > 0
          ? ", \(restored.factsOfCatalog) of \(restored.facts) facts from its catalog's database"
          : "")
        + (restored.hasCatalog
          ? ". Next: `pipeline run`, which goes on with its catalog, and `pipeline verify`."
          : ". Next: `pipeline rebuild-catalog` unless its catalog is there and no newer, `pipeline run`, and "
            + "`pipeline verify`, which names originals that were recorded later."))
    return .success
  }
}
