import Files
import PipelineModel

/// An iterator over the journal's facts in order, with one piece of a segment in memory.
package struct ManifestCursor {
  private let folder: Descriptor
  /// The segments still to read, the next one last.
  private var segments: [Int]
  private let sequence: Int64
  private var segment: ManifestSegmentReader?
  private var expected: Int64?

  init(folder: Descriptor, segments: [Int], after sequence: Int64) {
    self.folder = folder
    self.segments = segments.reversed()
    self.sequence = sequence
  }

  /// Returns the next fact, or `nil` after the last.
  ///
  /// - Throws: `ManifestError` of code `damaged` if facts are missing or out of order,
  ///   `newerVersion` for a kind of fact that this program does not know.
  package mutating func next() throws(ManifestError) -> ManifestEntry? {
    while true {
      while let line = try segment?.next() {
        if let entry = try entry(line) { return entry }
      }
      guard let number = segments.popLast() else { return nil }
      segment = try ManifestSegmentReader(number, in: folder)
    }
  }

  private mutating func entry(_ line: ManifestLine) throws(ManifestError) -> ManifestEntry? {
    // The first line read may precede the first wanted fact.
    let isMissing = expected.map { line.seq != $0 } ?? (line.seq > sequence + 1)
    if let expected, line.seq < expected {
      throw ManifestError(
        .damaged,
        "Fact \(line.seq) follows fact \(expected - 1) in the manifest: two processes wrote to it "
          + "at once. Restore it from a backup.", path: folder.path)
    }
    if isMissing {
      throw ManifestError(
        .damaged,
        "Facts \(expected ?? sequence + 1) to \(line.seq - 1) are missing from the manifest.",
        path: folder.path)
    }
    expected = line.seq + 1
    guard line.seq > sequence else { return nil }
    guard let entry = line.entry else {
      throw ManifestError(
        .newerVersion,
        "The manifest contains a fact “\(line.fact)” that this version of pipeline does not know; "
          + "use the newer version.", path: folder.path)
    }
    return entry
  }
}
