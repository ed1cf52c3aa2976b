package import PipelineModel

/// What one job of a stage may use; `nil` where the configuration says nothing.
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
}
