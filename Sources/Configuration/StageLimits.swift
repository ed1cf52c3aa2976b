package import PipelineModel

/// The limits of one job of a stage; `nil` if not configured: see `filled`.
package struct StageLimits: Sendable, Hashable {
  /// Elapsed time.
  package var time: TimeSpan?
  /// Processor time.
  package var cpu: TimeSpan?
  /// Memory.
  package var memory: ByteSize?
  /// Total bytes of all renditions.
  package var outputBytes: ByteSize?
  /// Number of files created.
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
    " For more, set limits.\(key.rawValue) of its stage."
  }

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
