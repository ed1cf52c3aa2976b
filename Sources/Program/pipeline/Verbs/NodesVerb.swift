import LibrarySession
import PipelineModel
import Records

/// `pipeline nodes`: lists the processes that work on a library whose catalog is in PostgreSQL.
enum NodesVerb: Verb {
  static let name = "nodes"
  static let summary = "List the processes of all machines that work on the library"
  static let examples = [
    ("pipeline nodes", "those at work, and those of the last day that did something"),
    ("pipeline nodes --json", "one JSON object for each"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let participants = try LibraryParticipants(context.search).all()
    if context.console.isJSON {
      for participant in participants { context.console.event("node", members(of: participant)) }
      return .success
    }
    guard !participants.isEmpty else {
      context.console.result("No process works on the library.")
      return .success
    }
    let titles = [
      "NODE", "PROCESS", "VERB", "VERSION", "STATE", "SINCE", "HEARD OF", "RUNNING", "ENDED",
    ]
    let rows = [titles] + participants.map(columns)
    let widths = titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = zip(row, widths).map { $0.padded(to: $1) }
      context.console.result(
        cells.joined(separator: "  ").replacing(/\s+$/, with: ""))
    }
    return .success
  }

  private static func columns(_ participant: ParticipantRecord) -> [String] {
    [
      participant.node, "\(participant.process)", participant.verb, participant.version,
      participant.state.rawValue, participant.joinedAt.rfc3339, participant.renewedAt.rfc3339,
      "\(participant.runningJobs)", "\(participant.endedJobs)",
    ]
  }

  private static func members(of participant: ParticipantRecord) -> [String: JSONValue] {
    [
      "id": .string(String(participant.id, radix: 16)), "node": .string(participant.node),
      "process": .integer(participant.process), "verb": .string(participant.verb),
      "version": .string(participant.version), "state": .string(participant.state.rawValue),
      "joinedAt": .string(participant.joinedAt.rfc3339),
      "renewedAt": .string(participant.renewedAt.rfc3339),
      "jobsRunning": .integer(participant.runningJobs),
      "jobsEnded": .integer(participant.endedJobs),
    ]
  }
}
