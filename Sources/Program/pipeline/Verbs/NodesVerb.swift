import LibrarySession
import PipelineModel
import Records

/// `pipeline nodes`: lists the processes that work on a library whose catalog is in PostgreSQL.
enum NodesVerb: Verb {
  static let name = "nodes"
  static let summary =
    "List the processes of all machines that work on the library, or let some end"
  static let operands = "[drain NAME]"
  static let examples = [
    ("pipeline nodes", "those at work, and those of the last day that did something"),
    ("pipeline nodes --json", "one JSON object for each"),
    (
      "pipeline nodes drain atlas",
      "asks `work`, and what has joined, on atlas to stop without losing work"
    ),
    ("pipeline nodes drain 4f1c9a0b77d2e613", "the same for one process, by its ID"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 2)
    let library = try LibraryParticipants(context.search)
    guard context.arguments.operands.isEmpty else { return try drain(context, library) }
    let participants = try library.all()
    if context.console.isJSON {
      for participant in participants { context.console.event("node", members(of: participant)) }
      return .success
    }
    guard !participants.isEmpty else {
      context.console.result("No process works on the library.")
      return .success
    }
    let titles = [
      "NODE", "ID", "PROCESS", "VERB", "VERSION", "STATE", "SINCE", "HEARD OF", "RUNNING", "ENDED",
    ]
    let rows = [titles] + participants.map(columns)
    let widths = titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = zip(row, widths).map { $0.padded(to: $1) }
      context.console.result(
        cells.joined(separator: "  ").replacing(/\s+$/, with: ""))
    }
    for participant in participants where participant.isLive {
      for line in notes(on: participant) {
        context.console.result("\(participant.node) \(participant.process): \(line)")
      }
    }
    return .success
  }

  private static func drain(
    _ context: Context, _ library: LibraryParticipants
  ) throws -> ExitCode {
    guard try context.operand(0, "drain").utf8 == "drain" else {
      throw UsageError("Name an action: drain.", verb: name)
    }
    for participant in try library.drain(context.operand(1, "NAME").description) {
      if context.console.isJSON {
        context.console.event("draining", members(of: participant))
      } else {
        context.console.message(
          "\(participant.verb) on \(participant.node) (process \(participant.process)) stops without losing work."
        )
      }
    }
    return .success
  }

  private static func notes(on participant: ParticipantRecord) -> [String] {
    let sources = participant.sources.map { "It takes files from the shared source “\($0)”." }
    let stages = participant.heldStages.sorted { $0.key < $1.key }
      .map { "The stage “\($0.key)” is held there: \($0.value)" }
    let role =
      participant.isTaker ? ["It has the library's lock, and records what others take."] : []
    return role + sources + stages
  }

  private static func columns(_ participant: ParticipantRecord) -> [String] {
    [
      participant.node, participant.text, "\(participant.process)",
      participant.verb, participant.version,
      participant.state.rawValue, participant.joinedAt.rfc3339, participant.renewedAt.rfc3339,
      "\(participant.runningJobs)", "\(participant.endedJobs)",
    ]
  }

  private static func members(of participant: ParticipantRecord) -> [String: JSONValue] {
    [
      "id": .string(participant.text), "node": .string(participant.node),
      "process": .integer(participant.process), "verb": .string(participant.verb),
      "version": .string(participant.version), "state": .string(participant.state.rawValue),
      "joinedAt": .string(participant.joinedAt.rfc3339),
      "renewedAt": .string(participant.renewedAt.rfc3339),
      "jobsRunning": .integer(participant.runningJobs),
      "jobsEnded": .integer(participant.endedJobs),
      "hasLock": .bool(participant.isTaker && participant.isLive),
      "sources": .array(participant.sources.map { .string($0) }),
      "heldStages": .object(participant.heldStages.mapValues { .string($0) }),
    ]
  }
}
