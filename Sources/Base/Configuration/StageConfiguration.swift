package import PipelineModel

/// A configured use of a plugin.
package struct StageConfiguration: Sendable, Hashable {
  /// Where the plugin runs.
  package enum Isolation: String, Sendable, Hashable, CaseIterable {
    /// In worker processes.
    case process
    /// In the program itself.
    case none
  }

  /// Where to store renditions.
  package enum Storage: String, Sendable, Hashable, CaseIterable {
    /// Depending on size.
    case auto
    /// In SQLite.
    case database
    /// In the tree of renditions.
    case file
  }

  /// The name, which is also the name of a folder and the end of a queue's label.
  package var name: String
  package var plugin: String
  /// The stages whose facts this one needs, as in the file; none by default.
  package var needs: [String] = []
  /// The renditions to work on instead of the original, as in the file: the first that an asset has. By
  /// default none.
  package var input: [RenditionReference] = []
  /// The media types that the stage works on, of those that its plugin accepts; `nil` for all of them.
  package var accepts: [String]?
  /// How many jobs run at once; by default one per processor.
  package var concurrency: Int
  /// The limits of a job; none by default, until `StageLimits.filled` adds them.
  package var limits = StageLimits()
  /// How many times a job is tried; three by default.
  package var attempts = 3
  /// Where the plugin runs; by default in worker processes.
  package var isolation = Isolation.process
  /// Where to store renditions; by default depending on size.
  package var storage = Storage.auto
  /// The plugin's options, an object, as in the file; empty by default.
  package var options: JSONValue = .object([:])
  /// What the plugin may do in a worker beyond reading its input and writing its output; by
  /// default nothing.
  package var allow = StageAllowance()
  /// An executable plugin's program and arguments. A program with a slash is an absolute path; one
  /// without is searched in the system's folders, regardless of `PATH`.
  package var command: [String]?

  /// The stages that this one needs for their facts, and those that may make its input.
  package var allNeeds: [String] { needs + alternatives }

  /// The stages of `input` that are not needed otherwise: one of them suffices.
  package var alternatives: [String] {
    input.map(\.stage).reduce(into: []) { stages, stage in
      if !needs.contains(stage), !stages.contains(stage) { stages.append(stage) }
    }
  }

  /// The most jobs of a stage that may run at once.
  package static let greatestConcurrency = 1024

  package init(name: String, plugin: String) {
    self.name = name
    self.plugin = plugin
    concurrency = min(Machine.processors, Self.greatestConcurrency)
  }
}

/// What a plugin in a worker may do beyond reading its input and writing its output.
package struct StageAllowance: Sendable, Hashable {
  package var network = false
  package var exec = false
  /// Files and folders that it may read, absolute and normalized.
  package var read: [BytePath] = []
  /// Files and folders that it may write, absolute and normalized.
  package var write: [BytePath] = []

  package init() {}
}

/// The keys of `limits`.
package enum LimitKey: String {
  case time, cpu, memory, outputBytes, files, processes, inputBytes, pixels, frames
}

/// The limits of one job of a stage; `nil` if not configured: see `filled`.
package struct StageLimits: Sendable, Hashable {
  package var time: TimeSpan?
  package var cpu: TimeSpan?
  package var memory: ByteSize?
  /// Total bytes of all renditions.
  package var outputBytes: ByteSize?
  package var files: Int?
  package var processes: Int?
  /// Bytes of the original.
  package var inputBytes: ByteSize?
  /// Pixels of the decoded picture.
  package var pixels: Int?
  /// Frames or pages of the original.
  package var frames: Int?

  package init() {}

  /// The default time limit: long for a picture, but finite.
  package static let standardTime = TimeSpan(milliseconds: 600_000)
  /// The default limit of output bytes.
  package static let standardOutputBytes = ByteSize(bytes: 1 << 30)
  /// The default limit of files created.
  package static let standardFiles = 10_000
  /// The default limit of processes if other programs may be started; otherwise it is 1.
  package static let standardProcesses = 64

  /// A sentence about how to raise a limit, to follow the one that states it.
  package static func remedy(_ key: LimitKey) -> String {
    "\(remedyBegin)\(key.rawValue) of its stage."
  }

  /// How such a sentence begins; that of a plugin that was refused memory, too.
  package static let remedyBegin = " For more, set limits."

  /// The effective limits: those that are set, and defaults for all that could block a run forever
  /// or exhaust the machine.
  ///
  /// - Parameters:
  ///   - memory: the stage's share of the memory budget.
  ///   - mayExecute: whether other programs may be started.
  package func filled(memory share: ByteSize, mayExecute: Bool) -> StageLimits {
    var limits = self
    limits.time = time ?? Self.standardTime
    limits.memory = memory ?? share
    limits.outputBytes = outputBytes ?? Self.standardOutputBytes
    limits.files = files ?? Self.standardFiles
    limits.processes = processes ?? (mayExecute ? Self.standardProcesses : 1)
    return limits
  }
}
