package import PipelineModel

/// What a plugin in a worker may do beyond reading its input and writing its output.
package struct StageAllowance: Sendable, Hashable {
  /// Whether it may use the network.
  package var network = false
  /// Whether it may start other programs.
  package var exec = false
  /// Files and folders that it may read, absolute and normalized.
  package var read: [BytePath] = []
  /// Files and folders that it may write, absolute and normalized.
  package var write: [BytePath] = []

  /// Makes an allowance that permits nothing.
  package init() {}
}
