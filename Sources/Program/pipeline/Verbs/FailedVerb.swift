import Catalog
import LibrarySession
import PipelineModel
import Records

/// `pipeline failed`: lists failed jobs.
enum FailedVerb: Verb {
  static let name = "failed"
  static let summary = "List failed jobs with reason, class and attempts"
  static let examples = [
    ("pipeline failed", "a line for each"),
    ("pipeline failed --json", "for scripts"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let console = context.console
    var count = 0
    try ReadingSession(context.search).catalog.failures { failure in
      try console.expectReader()
      count += 1
      guard console.isJSON else {
        return console.result(
          "\(failure.asset)\t\(failure.stage)\t\(failure.failureClass)\t"
            + "\(counted(failure.attempts, "attempt"))\t\(failure.name.printable)\t\(failure.reason)"
        )
      }
      var members: [String: JSONValue] = [
        "asset": .string(failure.asset.description),
        "stage": .string(failure.stage),
        "class": .string(failure.failureClass),
        "reason": .string(failure.reason),
        "attempts": .integer(failure.attempts),
      ]
      members.merge(JSONMembers.path(failure.name, key: "name")) { $1 }
      console.event("failure", members)
    }
    console.total(counted(count, "failed job"), isTrouble: count > 0)
    return .success
  }
}
