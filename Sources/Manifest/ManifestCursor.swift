import Files
import PipelineModel

/// Facts of the journal in their order, a piece of a segment in memory at a time.
package struct ManifestCursor {
  private let folder: Descriptor
  /// The segments that are still to be read, the next one last.
  private var segments: [Int]
  private let sequence: Int64
  /// The segment that is being read.
  private var segment: ManifestSegmentReader?
  private var expected: Int64?

  init(folder: Descriptor, segments: [Int], after sequence: Int64) {
    self.folder = folder
    self.segments = segments.reversed()
    self.sequence = sequence
  }

  /// Returns the next fact, or `nil` behind the last one.
  ///
  /// - Throws: `ManifestError` of code `damaged` where facts are missing, and
  ///   `newerVersion` for a fact of a kind that this program does not know.
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
    // The first line that is read may lie before the first fact that is wanted.
    let isMissing = expected.map { line.seq != $0 } ?? (line.seq > sequence + 1)
    if let expected, line.seq < expected {
      throw ManifestError(
        .damaged,
        "Fact \(line.seq) stands in the manifest behind fact \(expected - 1): two processes have "
          + "written to it at once. Restore it from a backup.", path: folder.path)
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
        "The manifest holds a fact “\(line.fact)” that this version of pipeline does not know; "
          + "use the newer one.", path: folder.path)
    }
    return entry
  }
}
