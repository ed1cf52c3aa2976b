package import PipelineModel

/// A process that changes a catalog in PostgreSQL, or did so.
package struct ParticipantRecord: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    case active
    /// Asked to end: it claims nothing more.
    case draining
    case ended
    /// It went without a word, or was not heard of for too long; its jobs were given to others.
    case expired
  }

  /// A random number, so that none comes again in a database that was restored.
  package var id: Int64
  /// The name of its machine.
  package var node: String
  package var process: Int
  /// The verb that it runs.
  package var verb: String
  package var version: String
  package var state: State
  package var joinedAt: Timestamp
  /// When it was last heard of.
  package var renewedAt: Timestamp
  package var runningJobs: Int
  /// The jobs whose outcome it has recorded.
  package var endedJobs: Int
  /// Whether it has the library's lock.
  package var isTaker: Bool
  /// Why it does not work on stages, by their names.
  package var heldStages: [String: String]
  /// The shared sources that it takes files from.
  package var sources: [String]

  /// The number as people see it, and name it: sixteen hexadecimal digits.
  package var text: String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Whether it is at work.
  package var isLive: Bool { state == .active || state == .draining }

  package init(
    id: Int64, node: String, process: Int, verb: String, version: String, state: State,
    joinedAt: Timestamp, renewedAt: Timestamp, runningJobs: Int, endedJobs: Int,
    isTaker: Bool, heldStages: [String: String], sources: [String]
  ) {
    self.id = id
    self.node = node
    self.process = process
    self.verb = verb
    self.version = version
    self.state = state
    self.joinedAt = joinedAt
    self.renewedAt = renewedAt
    self.runningJobs = runningJobs
    self.endedJobs = endedJobs
    self.isTaker = isTaker
    self.heldStages = heldStages
    self.sources = sources
  }
}

/// A job that another process runs.
package struct RemoteJob: Hashable, Sendable {
  /// The machine of that process.
  package var node: String
  package var stage: String
  package var name: BytePath
  package var since: Timestamp

  package init(node: String, stage: String, name: BytePath, since: Timestamp) {
    self.node = node
    self.stage = stage
    self.name = name
    self.since = since
  }
}
