import Catalog
import Ingest
import LibraryControl
import LibrarySession
import PipelineModel
import Records

/// `pipeline verify`: rehashes all files and compares manifest, catalog and disk.
enum VerifyVerb: Verb {
  static let name = "verify"
  static let summary = "Rehash originals and renditions; compare manifest, catalog and disk"
  static let repair = Option(
    name: "--repair", help: "make renditions again, move damaged originals aside")
  static let limit = Option(
    name: "--time-limit", value: "DURATION",
    help: "check for this long; the next verification continues from there")
  static let options = [repair, limit, Option.wait, Option.metrics]
  static let examples = [
    ("pipeline verify", "silent if all is well"),
    ("pipeline verify --json", "a JSON object for each problem, and a summary"),
    ("pipeline verify --time-limit 30m", "from cron: another part of the library each night"),
    ("pipeline verify --repair", "repair what can be repaired"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let limit = try context.duration(limit)
    let metrics = try context.metricsFile()
    let session = try ReadingSession(context.search)
    let console = context.console
    SignalHandler.shared.listen()
    let progress = StepProgress(console)
    let counts = try session.catalog.status()
    let total = counts.originals + counts.renditions
    var count = 0
    // Keep only what can be repaired: there may be a problem per file.
    var repairable: [VerificationProblem] = []
    let mostRepaired = context.arguments.has(repair) ? Repair.mostProblems : 0
    let outcome = try Verification(library: session.library, catalog: session.catalog).run(
      limit: limit, isStopped: { SignalHandler.shared.isStopRequested },
      progress: { progress.draw(text(of: $0, total: total)) }
    ) { problem in
      count += 1
      if problem.kind.isRepairable, repairable.count < mostRepaired { repairable.append(problem) }
      // If an asset can't be read, report the problem without its name.
      let names = problem.assets.map { (try? session.catalog.asset($0)?.name) ?? "" }
      tell(problem, names, console)
    }
    console.wipe()
    if limit != nil, let reason = outcome.unsaved {
      console.warning("The next verification starts from the beginning: \(reason)")
    }
    if let reason = outcome.unlisted {
      console.warning("The list of damage that `explain` and `list` show is incomplete: \(reason)")
    }
    var repaired = RequestResult(RepairResult())
    if !repairable.isEmpty, !SignalHandler.shared.isStopRequested {
      // Close first: the last connection to close checkpoints the catalog's log.
      try session.catalog.close()
      repaired = try context.perform(.repair(repairable))
      if repairable.count == mostRepaired {
        console.warning("At most \(mostRepaired) problems are repaired at once; verify again.")
      }
    }
    summarize(outcome, count, repaired, console)
    if let code = SignalHandler.shared.exitCode { return code }
    let code: ExitCode = count > repaired.count("repaired") ? .someFailed : .success
    return context.write(to: metrics, ending: code) { text in
      VerificationMetrics(
        outcome, problems: count, repaired: repaired.count("repaired"), at: .now
      ).write(to: &text)
    }
  }

  /// The progress line.
  private static func text(of step: VerificationStep, total: Int) -> String {
    switch step {
    case .files(let count): "\(count) of \(max(total, count)) files checked"
    case .folders(let count): "comparing originals with records: \(count) of 256 folders"
    case .facts(let count, let all):
      "comparing manifest and catalog: \(100 * count / max(all, 1)) %"
    case .renditionFolders(let count): "comparing renditions with records: folder \(count + 1)"
    }
  }

  private static func tell(
    _ problem: VerificationProblem, _ names: [BytePath], _ console: Console
  ) {
    guard console.isJSON else {
      let assets = zip(names, problem.assets).map { name, id in
        name.bytes.isEmpty ? "\(id)" : "\(name.printable) (\(id))"
      }
      let concerned = assets.isEmpty ? "" : " It affects \(assets.joined(separator: ", "))."
      return console.message("\(problem.kind.rawValue): \(problem.message)\(concerned)")
    }
    var members: [String: JSONValue] = [
      "kind": .string(problem.kind.rawValue),
      "digest": JSONMembers.text(problem.digest?.hex),
      "message": .string(problem.message),
      "path": .null,
      "assets": .array(problem.assets.map { .string($0.description) }),
      "names": .array(names.map { .string($0.description) }),
    ]
    if let path = problem.path { members.merge(JSONMembers.path(path)) { $1 } }
    console.event("problem", members)
  }

  private static func summarize(
    _ outcome: VerificationOutcome, _ problems: Int, _ repaired: RequestResult, _ console: Console
  ) {
    var members = repaired.members
    members["checked"] = .integer(outcome.checked)
    members["problems"] = .integer(problems)
    members["complete"] = .bool(outcome.isComplete)
    var sentence = "\(counted(outcome.checked, "file")) checked, \(counted(problems, "problem"))"
    if repaired.count("repaired") > 0 { sentence += ", \(repaired.count("repaired")) repaired" }
    if repaired.count("setAside") > 0 { sentence += ", \(repaired.count("setAside")) moved aside" }
    if !outcome.isComplete { sentence += "; the next verification continues from here" }
    console.summary("summary", members, sentence + ".")
  }
}
