import Ingest
import PipelineModel

/// `pipeline verify`: compares manifest, catalog and disk, and rehashes everything.
enum VerifyVerb: Verb {
  static let name = "verify"
  static let summary = "Rehash originals and renditions; compare manifest, catalog and disk"
  static let examples = [
    ("pipeline verify", "silent if all is well"),
    ("pipeline verify --json", "a JSON object for each problem, and a summary"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let session = try ReadingSession(context)
    let console = context.console
    let verification = try Verification(library: session.library, catalog: session.catalog)
    var problems = 0
    let checked = try verification.run { problem in
      problems += 1
      guard console.isJSON else {
        return console.message("\(problem.kind.rawValue): \(problem.message)")
      }
      var members: [String: JSONValue] = [
        "kind": .string(problem.kind.rawValue),
        "digest": JSONMembers.text(problem.digest?.hex),
        "message": .string(problem.message),
        "path": .null,
      ]
      if let path = problem.path { members.merge(JSONMembers.path(path)) { $1 } }
      console.event("problem", members)
    }
    if console.isJSON {
      console.event(
        "summary",
        ["checked": .integer(checked), "problems": .integer(problems), "repaired": 0])
    } else if console.isTerminal || console.isVerbose {
      console.message("\(counted(checked, "file")) checked, \(counted(problems, "problem")).")
    }
    return problems == 0 ? .success : .someFailed
  }
}
