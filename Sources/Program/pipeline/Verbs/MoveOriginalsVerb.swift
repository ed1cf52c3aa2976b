import Configuration
import Ingest
import LibrarySession
import PipelineModel

/// `pipeline move-originals`: moves all originals to a bucket, or back.
enum MoveOriginalsVerb: Verb {
  static let name = "move-originals"
  static let summary = "Move all originals to a bucket, or back into the library"
  static let operands = "[s3://BUCKET/PREFIX | library]"
  static let keep = Option(
    name: "--keep", help: "leave the originals in the old place as well")
  static let options = [keep, Option.wait]
  static let examples = [
    ("pipeline move-originals", "to where \"originals\" in pipeline.json says"),
    ("pipeline move-originals library", "back into the library"),
    (
      "pipeline move-originals --keep s3://archive/pictures", "copy them; the library uses the copy"
    ),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let setup = try LibrarySetup(context.search)
    let target = try target(context, setup.configuration.originals)
    let signals = SignalHandler.shared
    signals.listen()
    let found = try library(setup)
    let lock = try found.lock(wait: context.wait()) { signals.isStopRequested }
    let result = try withExtendedLifetime(lock) {
      defer { context.console.wipe() }
      // What an interrupted run left is completed first, where originals are now.
      try IngestLibrary(
        found, lock: lock, reserve: 0, report: RunReport(SessionPrinter(context.console)),
        isStopped: { signals.isStopRequested }
      ).close()
      let catalog = try ReadableLibrary(found.layout).catalog
      let move = try OriginalsMove(
        found.readAgain(), to: target, configured: setup.configuration.originals, catalog: catalog,
        reserve: { [configuration = setup.configuration] size in
          LibrarySetup.reserve(configuration, diskSize: size)
        }
      ) { signals.isStopRequested }
      let progress = StepProgress(context.console)
      return try move.run(keepsOld: context.arguments.has(keep)) { step in
        switch step {
        case .copying(let count, let all): progress.draw("\(count) of \(all) originals stored")
        case .comparing(let count, let all): progress.draw("\(count) of \(all) originals compared")
        }
      }
    }
    if result.missing > 0 {
      context.console.warning(
        "\(counted(result.missing, "recorded original")) \(result.missing == 1 ? "is" : "are") in neither place; "
          + "`pipeline verify` names what is missing.")
    }
    let place = target?.name ?? "library"
    context.console.summary(
      "moved",
      [
        "to": .string(place), "copied": .integer(result.copied), "bytes": .integer(result.bytes),
        "removed": .integer(result.removed), "missing": .integer(result.missing),
      ],
      "\(counted(result.copied, "original")) (\(ByteSize(bytes: result.bytes))) stored in \(place), "
        + "\(result.removed) removed from the old place."
        + (setup.configuration.originals?.name == target?.name
          ? "" : " Set \"originals\" in pipeline.json accordingly."))
    return result.missing == 0 ? .success : .someFailed
  }

  /// Finds the library wherever its originals are; a bucket is reached as the configuration says.
  private static func library(_ setup: LibrarySetup) throws -> LibraryFolder {
    let found = try LibraryFolder.open(setup.layout.withoutBucket)
    guard let bucket = found.bucket, bucket.name == setup.layout.bucket?.name else { return found }
    return try LibraryFolder.open(setup.layout)
  }

  private static func target(
    _ context: Context, _ configured: BucketLocation?
  ) throws -> BucketLocation? {
    guard let text = context.arguments.operands.first?.description else {
      guard let configured else {
        throw UsageError("Name a bucket, or set \"originals\" in pipeline.json.", verb: name)
      }
      return configured
    }
    if text == "library" { return nil }
    do throws(LocationFault) {
      let named = try BucketLocation(text)
      // The configuration may say more about how to reach it.
      return configured?.name == named.name ? configured : named
    } catch {
      throw UsageError("“\(text)” \(error.reason).", verb: name)
    }
  }
}
