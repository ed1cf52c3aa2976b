package import PipelineModel

/// A fact's identity in the journal: its position and time.
package struct ManifestMark: Hashable, Sendable, CustomStringConvertible {
  /// Its position, counted from 1.
  package let sequence: Int64
  /// When it was written.
  package let time: Timestamp

  package init(sequence: Int64, time: Timestamp) {
    self.sequence = sequence
    self.time = time
  }

  /// Parses a `description`; `nil` for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: " ").compactMap { Int64($0) }
    guard parts.count == 2 else { return nil }
    self.init(sequence: parts[0], time: Timestamp(microseconds: parts[1]))
  }

  /// The position and the microseconds since 1970, separated by a space.
  package var description: String { "\(sequence) \(time.microseconds)" }
}

extension Manifest {
  /// Returns the mark of the fact at a position, or `nil` if there is none.
  package func mark(at sequence: Int64) throws(ManifestError) -> ManifestMark? {
    if let last = lastMark, last.sequence == sequence { return last }
    var cursor = try entries(after: sequence - 1)
    return try cursor.next().map { ManifestMark(sequence: $0.sequence, time: $0.time) }
  }
}
