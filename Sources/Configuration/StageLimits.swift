package import PipelineModel

/// What one job of a stage may use; `nil` where the configuration says nothing: see `filled`.
package struct StageLimits: Sendable, Hashable {
  /// Time by the clock.
  package var time: TimeSpan?
  /// Time on processors.
  package var cpu: TimeSpan?
  /// Memory.
  package var memory: ByteSize?
  /// Bytes of all renditions together.
  package var outputBytes: ByteSize?
  /// Number of files made.
  package var files: Int?
  /// Number of processes.
  package var processes: Int?
  /// Bytes of the original.
  package var inputBytes: ByteSize?
  /// Pixels of the decoded picture.
  package var pixels: Int?
  /// Frames or pages of the original.
  package var frames: Int?

  /// Makes limits that limit nothing.
  package init() {}

  /// The limit of time by default: long for a picture, and yet an end.
  package static let standardTime = TimeSpan(milliseconds: 600_000)
  /// The limit of bytes made by default.
  package static let standardOutputBytes = ByteSize(bytes: 1 << 30)
  /// The limit of files made by default.
  package static let standardFiles = 10_000
  /// The limit of processes by default, where other programs may be started; else there is one.
  package static let standardProcesses = 64

  /// Says how a job may have more, to follow the sentence that says how much it may have.
  package static func remedy(_ key: LimitKey) -> String {
    " For more, set limits.\(key.rawValue) of its stage."
  }

  /// The limits that hold: those that are set, and a default for all that could hold a run for ever
  /// or fill the machine.
  ///
  /// - Parameters:
  ///   - memory: the stage's share of what jobs may need together.
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
