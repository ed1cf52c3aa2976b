import Files
import PipelineModel

/// An iterator over the journal's facts in order, with one piece of a segment, and one transaction, in
/// memory.
///
/// Facts of a transaction that a kill interrupted are left out.
package struct ManifestCursor {
  private let folder: Descriptor
  /// The segments still to read, the next one last.
  private var segments: [Int]
  private let sequence: Int64
  private var segment: ManifestSegmentReader?
  private var expected: Int64?
  /// The transaction whose last fact is still to come: the number of its first fact, and its facts so far.
  private var open: (first: Int64, entries: [ManifestEntry])?
  /// Facts of a whole transaction that are still to be returned, the next one last.
  private var whole: [ManifestEntry] = []
  /// Whether the next fact belongs to the same transaction as the last one that was returned.
  package var isInTransaction: Bool { !whole.isEmpty }
  /// The sequence number of the last fact that was read, whether it counts or not.
  package private(set) var lastSequence: Int64?
  /// Its line as it is in the file, with its newline.
  var bytes: [UInt8] { segment?.line ?? [] }

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
      if let entry = whole.popLast() { return entry }
      guard let line = try nextLine() else { return nil }
      let entry = try entry(line)
      guard let end = line.until else {
        open = nil
        return entry
      }
      let first = line.batch ?? line.seq
      if open?.first != first { open = (first, []) }
      open?.entries.append(entry)
      guard line.seq == end else { continue }
      whole = open?.entries.reversed() ?? []
      open = nil
    }
  }

  /// Returns the line of the next fact, whether it counts or not.
  mutating func nextLine() throws(ManifestError) -> ManifestLine? {
    while true {
      while let line = try segment?.next() {
        if try isWanted(line) {
          lastSequence = line.seq
          return line
        }
      }
      guard let number = segments.popLast() else { return nil }
      segment = try ManifestSegmentReader(number, in: folder)
    }
  }

  /// Whether a line comes after the place where reading begins.
  private mutating func isWanted(_ line: ManifestLine) throws(ManifestError) -> Bool {
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
    return line.seq > sequence
  }

  private func entry(_ line: ManifestLine) throws(ManifestError) -> ManifestEntry {
    guard let entry = line.entry else {
      throw ManifestError(
        .newerVersion,
        "The manifest contains a fact “\(line.fact)” that this version of pipeline does not know; "
          + "use the newer version.", path: folder.path)
    }
    return entry
  }
}
