import Catalog
import Ingest
import PipelineModel

/// `pipeline verify`: rehashes all files and compares manifest, catalog and disk.
enum VerifyVerb: Verb {
  static let name = "verify"
  static let summary = "Rehash originals and renditions; compare manifest, catalog and disk"
  static let repair = Option(
    name: "--repair", help: "make renditions again, move damaged originals aside")
  static let limit = Option(
    name: "--time-limit", value: "DURATION",
    help: "check for this long; the next verification continues from there")
  static let options = [repair, limit, Option.wait]
  static let examples = [
    ("pipeline verify", "silent if all is well"),
    ("pipeline verify --json", "a JSON object for each problem, and a summary"),
    ("pipeline verify --time-limit 30m", "from cron: another part of the library each night"),
    ("pipeline verify --repair", "repair what can be repaired"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let limit = try context.duration(limit)
    let session = try ReadingSession(context)
    let console = context.console
    SignalHandler.shared.listen()
    let progress = VerificationProgress(console, total: try total(session.catalog))
    var count = 0
    // Keep only what can be repaired: there may be a problem per file.
    var repairable: [VerificationProblem] = []
    let mostRepaired = context.arguments.has(repair) ? Repair.mostProblems : 0
    let outcome = try Verification(library: session.library, catalog: session.catalog).run(
      limit: limit, isStopped: { SignalHandler.shared.isStopRequested }, progress: progress.draw
    ) { problem in
      count += 1
      if problem.kind.isRepairable, repairable.count < mostRepaired { repairable.append(problem) }
      tell(problem, names(of: problem, session.catalog), console)
    }
    console.wipe()
    if limit != nil, let reason = outcome.unsaved {
      console.warning("The next verification starts from the beginning: \(reason)")
    }
    if let reason = outcome.unlisted {
      console.warning("The list of damage that `explain` and `list` show is incomplete: \(reason)")
    }
    var repaired = RequestResult(members: ["repaired": 0, "setAside": 0])
    if !repairable.isEmpty, !SignalHandler.shared.isStopRequested {
      // Close first: the last connection to close checkpoints the catalog's log.
      try session.catalog.close()
      repaired = try RequestSession(context).perform(.repair(repairable))
      if repairable.count == mostRepaired {
        console.warning("At most \(mostRepaired) problems are repaired at once; verify again.")
      }
    }
    summarize(outcome, count, repaired, console)
    if let code = SignalHandler.shared.exitCode { return code }
    return count > repaired.count("repaired") ? .someFailed : .success
  }

  /// The number of files to read.
  private static func total(_ catalog: CatalogReader) throws -> Int {
    let counts = try catalog.status()
    return counts.originals + counts.renditions
  }

  private static func names(
    of problem: VerificationProblem, _ catalog: CatalogReader
  ) -> [BytePath] {
    // If an asset can't be read, report the problem without its name.
    problem.assets.map { id in (try? catalog.asset(id)?.name) ?? "" }
  }

  private static func tell(
    _ problem: VerificationProblem, _ names: [BytePath], _ console: Console
  ) {
    guard console.isJSON else {
      let assets = zip(names, problem.assets).map { "\($0.printable) (\($1))" }
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
