import Catalog
import Files
import LibraryControl
import LibrarySession
import PipelineModel
import Records

/// `pipeline undo`: returns the imports of a run to where they came from.
enum UndoVerb: Verb {
  static let name = "undo"
  static let summary = "Give a run's imports back to where they came from, with names and times"
  static let operands = "[RUN]"
  static let options = [Option.yes, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline undo", "the last run that imported something"),
    ("pipeline undo 0197a2c4 --dry-run", "what undoing another run would return"),
    ("pipeline undo --yes", "more than 1,000 files without confirmation"),
  ]

  /// The most files returned without confirmation.
  private static let unasked = 1000

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let reading = try ReadingSession(context.search)
    guard let run = try run(context.arguments.operands.first, in: reading.catalog) else {
      return nothing("No run has imported anything yet.", nil, context.console)
    }
    let count = try reading.catalog.assetCount(of: run)
    guard count > 0 else { return try nothingLeft(of: run, reading.catalog, context.console) }
    if context.arguments.has(.dryRun) { return try preview(run, count, reading, context.console) }
    guard try mayUndo(count, context) else { return .success }
    // Close first: the last connection to close checkpoints the catalog's log.
    try reading.catalog.close()
    let result = try context.perform(.undo(run: run))
    let failed = result.count("failed")
    var members = result.members
    members["run"] = .string(run.description)
    context.console.summary(
      "undone", members,
      "\(counted(result.count("returned"), "file")) returned"
        + (failed > 0 ? ", \(failed) not" : "") + " (run \(run)).")
    return SignalHandler.shared.exitCode ?? (failed > 0 ? .someFailed : .success)
  }

  /// The run to undo; `nil` if none is named and none has imported anything.
  private static func run(_ text: BytePath?, in catalog: CatalogReader) throws -> AssetID? {
    guard let text else { return try catalog.lastImportingRun() }
    let matches = try catalog.runIDs(matching: text.description)
    guard let run = matches.first else {
      throw UsageError("No run has an ID that begins or ends with “\(text)”.", verb: name)
    }
    guard matches.count == 1 else {
      let some = matches.prefix(3).map(\.description).joined(separator: ", ")
      throw UsageError(
        "“\(text)” matches more than one run (\(some)…); write more of the ID.", verb: name)
    }
    return run
  }

  /// Reports that the library contains nothing from a run.
  private static func nothingLeft(
    of run: AssetID, _ catalog: CatalogReader, _ console: Console
  ) throws -> ExitCode {
    let record = try catalog.run(run)
    let hasImported = record?.counters["imported"] != 0
    let before = try catalog.runWithAssets(before: run).map {
      " The latest earlier run with assets is \($0)."
    }
    return nothing(
      hasImported
        ? "Nothing that the run \(run) imported is in the library any more: it was already undone, "
          + "or its assets were deleted.\(before ?? "")"
        : "The run \(run) imported nothing.\(before ?? "")", run, console)
  }

  private static func nothing(_ sentence: String, _ run: AssetID?, _ console: Console) -> ExitCode {
    if console.isJSON {
      console.event(
        "undone",
        [
          "run": JSONMembers.text(run?.description), "returned": 0, "left": 0, "failed": 0,
          "reason": .string(sentence),
        ])
    } else {
      console.message(sentence)
    }
    return .success
  }

  /// Asks for confirmation if many files are affected.
  private static func mayUndo(_ count: Int, _ context: Context) throws -> Bool {
    guard count > unasked, !context.arguments.has(.yes) else { return true }
    guard context.console.canAsk else {
      throw UsageError(
        "The run imported \(count) files, more than \(unasked): add --yes to return them all.",
        verb: name)
    }
    return context.console.ask("Return \(count) files to where they came from?") {
      SignalHandler.shared.isStopRequested
    }
  }

  // MARK: Without doing it

  private static func preview(
    _ run: AssetID, _ count: Int, _ reading: ReadingSession, _ console: Console
  ) throws -> ExitCode {
    var last: AssetID?
    while case let page = try reading.catalog.origins(of: run, before: last, limit: 256),
      !page.isEmpty
    {
      last = page.last?.id
      for origin in page {
        let path = origin.source.appending(origin.path)
        let (action, reason) = action(of: origin, path)
        console.planned(
          action, path, bytes: origin.size, reason: reason,
          ["asset": .string(origin.id.description)])
      }
    }
    console.summary(
      "undone",
      [
        "run": .string(run.description), "returned": 0, "left": 0, "failed": 0,
        "wouldReturn": .integer(count),
      ],
      "\(counted(count, "file")) would be returned (run \(run)).", isDryRun: true)
    return .success
  }

  private static func action(
    of origin: AssetOrigin, _ path: BytePath
  ) -> (name: String, reason: String?) {
    do throws(FileError) {
      let status = try FileSystem.status(of: path)
      return status.kind == .regular && status.identity.size == origin.size
        ? ("leave", "A file of this size is there; if its bytes are the same, nothing is written.")
        : ("refuse", "Another file has its place.")
    } catch {
      return error.code == .notFound ? ("return", nil) : ("refuse", error.message)
    }
  }
}
