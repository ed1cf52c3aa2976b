package import Files
import Glibc
package import PipelineModel
import Synchronization

/// The append-only journal of facts about imports and deletions.
///
/// Segments `0001.jsonl`, `0002.jsonl` … in one folder; one that ends in a torn line is never
/// appended to.
package final class Manifest: Sendable {
  /// The size in bytes beyond which a segment is followed by a new one.
  package static let segmentSize = 16 << 20

  private struct State {
    var segment: Descriptor?
    /// Whether the last segment is whole and may be appended to once it is open.
    var isContinued = false
    var segmentNumber: Int
    var segmentBytes: Int
    var sequence: Int64
    /// When the last fact was written; `nil` if not read.
    var time: Timestamp?
    var recent = RecentLines()
  }

  private let folder: Descriptor
  private let segmentSize: Int
  private let state: Mutex<State>

  /// Opens the journal in a folder.
  package convenience init(
    folder path: BytePath, segmentSize: Int = Manifest.segmentSize
  ) throws(ManifestError) {
    let folder: Descriptor
    do throws(FileError) {
      folder = try Descriptor.openFolder(path, followsLinks: false)
    } catch {
      throw ManifestError(error)
    }
    try self.init(in: folder, segmentSize: segmentSize)
  }

  /// Opens the journal in an open folder; reads only its end, unless that is torn.
  ///
  /// - Throws: `ManifestError` of code `damaged` if a line before the last is damaged.
  package init(
    in folder: Descriptor, segmentSize: Int = Manifest.segmentSize
  ) throws(ManifestError) {
    self.folder = folder
    self.segmentSize = segmentSize
    var state = State(segment: nil, segmentNumber: 0, segmentBytes: 0, sequence: 0)
    let numbers = try Self.segmentNumbers(in: folder)
    state.segmentNumber = numbers.last ?? 0
    for number in numbers.reversed() {
      let tail = try ManifestSegment.tail(of: number, in: folder)
      guard let sequence = tail.lastSequence else { continue }
      state.sequence = sequence
      state.time = tail.lastTime
      if number == numbers.last, !tail.isTorn {
        // The first append opens it: readers may lack write permission.
        state.isContinued = true
        state.segmentBytes = tail.bytes
      }
      break
    }
    self.state = Mutex(state)
  }

  /// The sequence number of the last fact; 0 in a new journal.
  package var lastSequence: Int64 { state.withLock { $0.sequence } }

  /// The last fact's mark; `nil` if its time was not read.
  package var lastMark: ManifestMark? {
    state.withLock { state in
      state.time.map { ManifestMark(sequence: state.sequence, time: $0) }
    }
  }

  /// Appends facts and waits until they are on disk, with one flush.
  ///
  /// - Parameters:
  ///   - time: the facts' time; now by default.
  ///   - asTransaction: whether none of them counts unless all reached the disk; otherwise a kill may
  ///     leave the first ones.
  /// - Returns: the last fact's sequence number.
  @discardableResult
  package func append(
    _ facts: [ManifestFact], at time: Timestamp = .now, asTransaction: Bool = false
  ) throws(ManifestError) -> Int64 {
    try state.withLock { state throws(ManifestError) in
      guard !facts.isEmpty else { return state.sequence }
      let first = state.sequence + 1
      var lines = ManifestLines(
        first: first, last: state.sequence + Int64(facts.count), bytes: [])
      for (sequence, fact) in zip(first..., facts) {
        var line = ManifestLine(ManifestEntry(sequence: sequence, time: time, fact: fact))
        if sequence > first { line.batch = first }
        if asTransaction, facts.count > 1 { line.until = lines.last }
        lines.bytes += line.encode()
      }
      try write(lines, at: time, &state)
      return state.sequence
    }
  }

  /// Appends lines that were kept elsewhere, as they are, and waits until they are on disk; leaves out those that the
  /// journal has.
  ///
  /// - Throws: `ManifestError` of code `damaged`, without having written anything, if one is, lines before them are
  ///   missing, or the journal has others in their place.
  package func append(_ lines: ManifestLines) throws(ManifestError) {
    if let own = try readLines(after: lines.first - 1, through: lastSequence),
      zip(own.bytes, lines.bytes).contains(where: { $0 != $1 })
    {
      throw ManifestError(
        .damaged, "The facts after \(lines.first - 1) are not those of the manifest.",
        path: folder.path)
    }
    try state.withLock { state throws(ManifestError) in
      var new = ManifestLines(first: state.sequence + 1, last: state.sequence, bytes: [])
      var time: Timestamp?
      for text in lines.bytes.split(separator: Self.newline) {
        guard let line = ManifestLine.decode(text) else {
          throw ManifestError(
            .damaged, "A line after fact \(new.last) of the manifest is damaged.",
            path: folder.path)
        }
        guard line.seq > new.last else { continue }
        guard line.seq == new.last + 1 else {
          throw ManifestError(
            .damaged, "Facts \(new.last + 1) to \(line.seq - 1) are missing from the manifest.",
            path: folder.path)
        }
        new.last = line.seq
        new.bytes += text
        new.bytes.append(Self.newline)
        time = Timestamp(microseconds: line.time)
      }
      guard let time else { return }
      try write(new, at: time, &state)
    }
  }

  private static let newline = UInt8(ascii: "\n")

  /// Writes the lines that come next, and waits until they are on disk.
  private func write(
    _ lines: ManifestLines, at time: Timestamp, _ state: inout State
  ) throws(ManifestError) {
    do throws(FileError) {
      let segment = try openSegment(&state)
      try segment.write(lines.bytes)
      try segment.syncData()
    } catch {
      // What reached the disk is unknown, and readers of the cache must not take it for durable,
      // so cut it off; the next append starts a new segment. Clean-up: a disk that refuses this
      // as well leaves whole or torn lines, as a kill would.
      try? state.segment?.truncate(to: state.segmentBytes)
      state.segment = nil
      state.isContinued = false
      state.sequence = max(state.sequence, wholeLines(of: state.segmentNumber))
      state.time = nil
      throw ManifestError(error)
    }
    state.segmentBytes += lines.bytes.count
    state.sequence = lines.last
    state.time = time
    state.recent.append(lines)
  }

  /// Returns lines after a fact, some mebibytes at a time; `nil` if there are none.
  ///
  /// From the first call on new lines are kept in memory for the next one.
  package func lines(after sequence: Int64) throws(ManifestError) -> ManifestLines? {
    let (recent, end) = state.withLock { ($0.recent.take(after: sequence), $0.sequence) }
    if let recent { return recent }
    return try readLines(after: sequence, through: end)
  }

  private func readLines(
    after sequence: Int64, through end: Int64
  ) throws(ManifestError) -> ManifestLines? {
    guard sequence < end else { return nil }
    var lines = ManifestLines(first: sequence + 1, last: sequence, bytes: [])
    var cursor = try entries(after: sequence)
    while lines.last < end, lines.bytes.count < Self.pieceSize, let line = try cursor.nextLine() {
      lines.last = line.seq
      lines.bytes += cursor.bytes
    }
    return lines.bytes.isEmpty ? nil : lines
  }

  /// About how many bytes of lines are read at a time: as many as a segment has, which is read from its beginning.
  private static let pieceSize = segmentSize

  /// Returns the mark of the fact at a position, or `nil` if there is none.
  package func mark(at sequence: Int64) throws(ManifestError) -> ManifestMark? {
    if let last = lastMark, last.sequence == sequence { return last }
    var cursor = try entries(after: sequence - 1)
    // Whether the fact counts or not: it may be of a transaction that was interrupted.
    return try cursor.nextLine().map {
      ManifestMark(sequence: $0.seq, time: Timestamp(microseconds: $0.time))
    }
  }

  /// Returns every fact after a sequence number, in order, one at a time; facts added meanwhile may
  /// or may not be included.
  package func entries(after sequence: Int64) throws(ManifestError) -> ManifestCursor {
    guard sequence < lastSequence else {
      return ManifestCursor(folder: folder, segments: [], after: sequence)
    }
    let numbers = try Self.segmentNumbers(in: folder)
    // Back to the segment that holds the first wanted fact.
    var first = numbers.endIndex
    while first > numbers.startIndex {
      first -= 1
      let begin = try ManifestSegment.firstSequence(of: numbers[first], in: folder)
      if let begin, begin <= sequence + 1 { break }
    }
    return ManifestCursor(folder: folder, segments: Array(numbers[first...]), after: sequence)
  }

  /// A segment as far as it is durable.
  package struct Segment: Hashable, Sendable {
    fileprivate let number: Int
    package let bytes: Int

    package var name: BytePath { ManifestSegment.name(of: number) }
  }

  /// Whether a file of this name is a segment.
  package static func isSegment(_ name: BytePath) -> Bool {
    ManifestSegment.number(of: name) != nil
  }

  /// Returns all segments, with the position of the last fact that they have.
  package func segments() throws(ManifestError) -> (sequence: Int64, segments: [Segment]) {
    try state.withLock { state throws(ManifestError) in
      var segments: [Segment] = []
      for number in try Self.segmentNumbers(in: folder) {
        do throws(FileError) {
          let size = try folder.status(of: ManifestSegment.name(of: number)).identity.size
          segments.append(Segment(number: number, bytes: size))
        } catch {
          throw ManifestError(error)
        }
      }
      return (state.sequence, segments)
    }
  }

  /// Waits until the last segment is on disk, with what a killed process may have left of a line: what is copied
  /// elsewhere must not be longer than the file after a power loss.
  package func sync() throws(ManifestError) {
    guard let number = try Self.segmentNumbers(in: folder).last else { return }
    do throws(FileError) {
      let name = ManifestSegment.name(of: number)
      try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW).sync()
    } catch {
      throw ManifestError(error)
    }
  }

  /// The inode of the last segment's file, which is another one after a restore; `nil` without any.
  package func inode() throws(ManifestError) -> UInt64? {
    guard let number = try Self.segmentNumbers(in: folder).last else { return nil }
    do throws(FileError) {
      return try folder.status(of: ManifestSegment.name(of: number)).identity.inode
    } catch {
      throw ManifestError(error)
    }
  }

  /// Reads a segment as far as it was durable then; it may have grown since.
  package func read(_ segment: Segment) throws(FileError) -> [UInt8] {
    let file = try Descriptor.open(segment.name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(segment.bytes)
    try file.forEachChunk(from: 0, count: segment.bytes) { chunk throws(FileError) in
      bytes.append(contentsOf: chunk)
    }
    return bytes
  }

  /// Returns the last fact in the first bytes of a segment; `nil` if they don't end in a whole line.
  package func lastFact(in segment: Segment, upTo bytes: Int) throws(FileError) -> Int64? {
    let file = try Descriptor.open(segment.name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
    let start = max(0, bytes - ManifestSegment.longestLine)
    var end: [UInt8] = []
    try file.forEachChunk(from: start, count: bytes - start) { chunk throws(FileError) in
      end.append(contentsOf: chunk)
    }
    guard end.last == Self.newline else { return nil }
    return ManifestLine.decode(ManifestSegment.lastLine(of: end))?.seq
  }

  /// Returns the segment to append to, creating one if needed.
  private func openSegment(_ state: inout State) throws(FileError) -> Descriptor {
    if state.segmentBytes < segmentSize {
      if let segment = state.segment { return segment }
      if state.isContinued {
        let name = ManifestSegment.name(of: state.segmentNumber)
        let segment = try Descriptor.open(name, in: folder, flags: O_WRONLY | O_APPEND | O_NOFOLLOW)
        state.segment = segment
        return segment
      }
    }
    let name = ManifestSegment.name(of: state.segmentNumber + 1)
    let segment = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, mode: 0o600)
    try folder.sync()
    state.segmentNumber += 1
    state.segmentBytes = 0
    state.segment = segment
    return segment
  }

  private func wholeLines(of number: Int) -> Int64 {
    // Only finds what a failed write left; an unreadable segment counts as empty.
    guard var segment = try? ManifestSegmentReader(number, in: folder) else { return 0 }
    while (try? segment.next()) != nil {}
    return segment.lastSequence ?? 0
  }

  private static func segmentNumbers(in folder: Descriptor) throws(ManifestError) -> [Int] {
    do throws(FileError) {
      return try folder.entries().compactMap { ManifestSegment.number(of: $0.name) }.sorted()
    } catch {
      throw ManifestError(error)
    }
  }
}
