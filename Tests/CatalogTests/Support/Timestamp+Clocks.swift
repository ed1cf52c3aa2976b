import PipelineModel

extension Timestamp {
  /// Whether it is another time, but for how exactly two clocks are compared.
  func isAbout(_ other: Timestamp) -> Bool {
    abs(microseconds - other.microseconds) < 1_000_000
  }
}
