import Ingest
import LibraryControl
import LibrarySession
import PipelineModel

/// `pipeline gc`: removes what was deleted for good and nothing refers to.
enum GarbageVerb: Verb {
  static let name = "gc"
  static let summary = "Remove what was deleted for good and nothing refers to any more"
  static let options = [Option.yes, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline gc --dry-run", "how much it would free"),
    ("pipeline trash empty && pipeline gc", "free the space of what was deleted"),
    ("pipeline gc --yes", "from cron, without confirmation"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let isDryRun = context.arguments.has(.dryRun)
    if !isDryRun, !context.arguments.has(.yes), try !mayCollect(context) { return .success }
    let result = isDryRun ? try preview(context) : try context.perform(.gc)
    let parts = [
      (result.count("originals"), "original"), (result.count("renditions"), "former rendition"),
      (result.count("files"), "unrecorded file"),
    ].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }
    let what = parts.isEmpty ? "Nothing" : parts.joined(separator: ", ")
    context.console.summary(
      "garbage", result.members,
      "\(what) \(isDryRun ? "would be removed" : "removed"), "
        + "\(ByteSize(bytes: result.count("bytes"))).", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  private static func mayCollect(_ context: Context) throws -> Bool {
    let found = try preview(context)
    let count = found.count("originals") + found.count("renditions") + found.count("files")
    return try context.mayRemove(
      count, "Remove \(counted(count, "file")), \(ByteSize(bytes: found.count("bytes")))?")
  }

  private static func preview(_ context: Context) throws -> RequestResult {
    try context.reading { session in
      RequestResult(
        try GarbageCollection.preview(library: session.library, catalog: session.catalog))
    }
  }
}
