import Catalog
import Configuration
import Ingest
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
    let isDryRun = context.arguments.has(.dryRun)
    let reading = try ReadingSession(context.search)
    // The last run counts with all that it took also if it was killed.
    if !isDryRun, context.arguments.operands.isEmpty { try context.recover() }
    guard let run = try run(context.arguments.operands.first, in: reading) else {
      let isJoined = reading.setup.layout.machine != nil
      return nothing(
        isJoined
          ? "No run is known in which this machine imported anything; name the run to undo."
          : "No run has imported anything yet.", nil, context)
    }
    let count = try reading.catalog.assetCount(of: run)
    guard count > 0 else { return try nothingLeft(of: run, reading.catalog, context) }
    if isDryRun { return try preview(run, reading, context.console) }
    guard try mayUndo(count, context) else { return SignalHandler.shared.exitCode ?? .success }
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
  private static func run(_ text: BytePath?, in reading: ReadingSession) throws -> AssetID? {
    let catalog = reading.catalog
    guard let text else {
      guard let machine = reading.setup.layout.machine else {
        return try catalog.lastImportingRun()
      }
      return try catalog.setting(JoinedLibrary.lastRun(of: machine)).flatMap { AssetID($0) }
    }
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
    of run: AssetID, _ catalog: CatalogReader, _ context: Context
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
        : "The run \(run) imported nothing.\(before ?? "")", run, context)
  }

  private static func nothing(_ sentence: String, _ run: AssetID?, _ context: Context) -> ExitCode {
    guard context.console.isJSON else {
      context.console.message(sentence)
      return .success
    }
    var members: [String: JSONValue] = [
      "run": JSONMembers.text(run?.description), "returned": 0, "left": 0, "failed": 0,
      "reason": .string(sentence),
    ]
    let isDryRun = context.arguments.has(.dryRun)
    if isDryRun {
      for name in ["wouldReturn", "wouldLeave", "wouldFail"] { members[name] = 0 }
    }
    context.console.summary("undone", members, sentence, isDryRun: isDryRun)
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
    _ run: AssetID, _ reading: ReadingSession, _ console: Console
  ) throws -> ExitCode {
    let (layout, configuration) = (reading.setup.layout, reading.setup.configuration)
    // On a machine that only works, nothing is returned.
    if layout.machine == nil { _ = try LibraryFolder.open(layout) }
    var counts: [UndoPreview.Action: Int] = [:]
    let preview = UndoPreview(reading.catalog, of: layout, sources: configuration.sources)
    try preview.forEachStep(of: run) { step in
      counts[step.action, default: 0] += 1
      console.planned(
        step.action.rawValue, step.place, bytes: step.origin.size, reason: step.reason,
        ["asset": .string(step.origin.id.description)])
    }
    let (refused, left) = (counts[.refuse] ?? 0, counts[.leave] ?? 0)
    let returned = (counts[.return] ?? 0) + left
    console.summary(
      "undone",
      [
        "run": .string(run.description), "returned": 0, "left": 0, "failed": 0,
        "wouldReturn": .integer(returned), "wouldLeave": .integer(left),
        "wouldFail": .integer(refused),
      ],
      "\(counted(returned, "file")) would be returned"
        + (left > 0 ? ", \(left) of which \(left == 1 ? "is" : "are") there already" : "")
        + (refused > 0 ? "; \(refused) could not be" : "") + " (run \(run)).", isDryRun: true)
    return refused > 0 ? .someFailed : .success
  }
}
