import Catalog
import Ingest
import PipelineModel

/// `pipeline gc`: removes what was deleted for good and nothing refers to.
enum GarbageVerb: Verb {
  static let name = "gc"
  static let summary = "Remove what was deleted for good and nothing refers to any more"
  static let options = [Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline gc --dry-run", "how much it would free"),
    ("pipeline trash empty && pipeline gc", "free the space of what was deleted"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let isDryRun = context.arguments.has(.dryRun)
    let result = isDryRun ? try preview(context) : try RequestSession(context).perform(.gc)
    let parts = [
      (result.count("originals"), "original"), (result.count("renditions"), "former rendition"),
      (result.count("files"), "file without a record"),
    ].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }
    let what = parts.isEmpty ? "Nothing" : parts.joined(separator: ", ")
    context.console.summary(
      "garbage", result.members,
      "\(what) \(isDryRun ? "would be removed" : "removed"), "
        + "\(ByteSize(bytes: result.count("bytes"))).", isDryRun: isDryRun)
    return Interruption.shared.exitCode ?? .success
  }

  private static func preview(_ context: Context) throws -> RequestResult {
    let session = try ReadingSession(context)
    return RequestResult(
      try GarbageCollection.preview(library: session.library, catalog: session.catalog))
  }
}
