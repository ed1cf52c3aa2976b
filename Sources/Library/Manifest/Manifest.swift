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
      var bytes: [UInt8] = []
      for (offset, fact) in facts.enumerated() {
        let entry = ManifestEntry(
          sequence: state.sequence + Int64(offset) + 1, time: time, fact: fact)
        var line = ManifestLine(entry)
        if offset > 0 { line.batch = state.sequence + 1 }
        if asTransaction, facts.count > 1 { line.until = state.sequence + Int64(facts.count) }
        bytes += line.encode()
      }
      do throws(FileError) {
        let segment = try openSegment(&state)
        try segment.write(bytes)
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
      state.segmentBytes += bytes.count
      state.sequence += Int64(facts.count)
      state.time = time
      return state.sequence
    }
  }

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
  fileprivate mutating func nextLine() throws(ManifestError) -> ManifestLine? {
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
