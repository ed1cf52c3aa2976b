package import PipelineModel

/// One fact of the journal, known by its place and the time that it was written.
package struct ManifestMark: Hashable, Sendable, CustomStringConvertible {
  /// Its place, counted from 1.
  package let sequence: Int64
  /// When it was written.
  package let time: Timestamp

  package init(sequence: Int64, time: Timestamp) {
    self.sequence = sequence
    self.time = time
  }

  /// Reads what `description` wrote, or returns `nil`.
  package init?(_ text: String) {
    let parts = text.split(separator: " ").compactMap { Int64($0) }
    guard parts.count == 2 else { return nil }
    self.init(sequence: parts[0], time: Timestamp(microseconds: parts[1]))
  }

  /// Place and microseconds since 1970, with a space between them.
  package var description: String { "\(sequence) \(time.microseconds)" }
}

extension Manifest {
  /// The mark of a fact, or `nil` if there is none at this place.
  package func mark(at sequence: Int64) throws(ManifestError) -> ManifestMark? {
    if let last = lastMark, last.sequence == sequence { return last }
    var cursor = try entries(after: sequence - 1)
    return try cursor.next().map { ManifestMark(sequence: $0.sequence, time: $0.time) }
  }
}
