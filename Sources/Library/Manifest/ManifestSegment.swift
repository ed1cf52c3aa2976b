import Files
import Glibc
import PipelineModel

/// One file of the journal.
enum ManifestSegment {
  /// More bytes than lines have, unless somebody makes one very long.
  static let longestLine = 1 << 16

  /// The line at the end of some bytes, without its newline.
  static func lastLine(of bytes: [UInt8]) -> ArraySlice<UInt8> {
    let content = bytes.dropLast()
    let start = content.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? content.startIndex
    return content[start...]
  }

  static func name(of number: Int) -> BytePath {
    let digits = String(number)
    return BytePath(String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ".jsonl")
  }

  static func number(of name: BytePath) -> Int? {
    guard let text = name.utf8, text.hasSuffix(".jsonl"), let number = Int(text.dropLast(6)),
      number > 0, self.name(of: number) == name
    else { return nil }
    return number
  }

  struct Tail {
    /// The sequence number of the last whole line, or `nil` if there is none.
    var lastSequence: Int64?
    /// When that line was written; `nil` if not read.
    var lastTime: Timestamp?
    /// Whether the segment ends in anything but a whole line.
    var isTorn: Bool
    /// The file's size.
    var bytes: Int
  }

  /// Examines the end of a segment; reads the whole segment only if the end may be torn.
  static func tail(of number: Int, in folder: Descriptor) throws(ManifestError) -> Tail {
    let newline = UInt8(ascii: "\n")
    do throws(FileError) {
      let file = try Descriptor.open(name(of: number), in: folder, flags: O_RDONLY | O_NOFOLLOW)
      let size = try file.status().identity.size
      try file.seek(to: max(0, size - longestLine))
      let end = try file.readToEnd()
      if end.last == newline, let line = ManifestLine.decode(lastLine(of: end)) {
        if try isWithoutHole(file, from: line, size: size) {
          return Tail(
            lastSequence: line.seq, lastTime: Timestamp(microseconds: line.time), isTorn: false,
            bytes: size)
        }
      }
    } catch {
      throw ManifestError(error)
    }
    var segment = try ManifestSegmentReader(number, in: folder)
    while try segment.next() != nil {}
    return Tail(lastSequence: segment.lastSequence, isTorn: segment.isTorn, bytes: segment.size)
  }

  /// Whether the last batch has no hole.
  ///
  /// - Returns: `false` also if the batch is too long to check here.
  private static func isWithoutHole(
    _ file: Descriptor, from last: ManifestLine, size: Int
  ) throws(FileError) -> Bool {
    if last.batch == nil { return true }
    // A group of 1,000 files with names of usual length fits; a longer batch is read whole.
    let longestBatch = 1 << 20
    try file.seek(to: max(0, size - longestBatch))
    let bytes = try file.readToEnd()
    let first = last.batch ?? last.seq
    let isSeenWhole = size <= longestBatch || firstSequence(of: bytes) <= first
    return isSeenWhole && !ManifestHole.isAnywhere(in: bytes)
  }

  /// The sequence number of the first whole line after the first newline.
  private static func firstSequence(of bytes: [UInt8]) -> Int64 {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
    guard lines.count > 1 else { return .max }
    return ManifestLine.decode(lines[1])?.seq ?? .max
  }

  /// Returns the sequence number of a segment's first fact, or `nil` if it has none.
  static func firstSequence(of number: Int, in folder: Descriptor) throws(ManifestError) -> Int64? {
    do throws(FileError) {
      let file = try Descriptor.open(name(of: number), in: folder, flags: O_RDONLY | O_NOFOLLOW)
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
      defer { buffer.deallocate() }
      let count = try file.read(into: buffer)
      let line = buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }
      return ManifestLine.decode(Array(line))?.seq
    } catch {
      throw ManifestError(error)
    }
  }
}

/// A reader of a segment's whole lines in order, with one piece of the file in memory.
struct ManifestSegmentReader {
  private let file: Descriptor
  private let name: BytePath
  /// Bytes read and still needed; begins at a sector boundary of the file.
  private var bytes: [UInt8] = []
  /// Where the next line begins in `bytes`.
  private var start = 0
  /// How far `bytes` was searched for the end of that line.
  private var searched = 0
  private var isBehindHole = false
  /// Where the last whole line is in `bytes`, without its newline.
  private var lastLine = 0..<0
  /// The sequence number of the last whole line so far; `nil` before the first.
  private(set) var lastSequence: Int64?
  /// Whether a torn line was met; at the end, whether the file ends in one.
  private(set) var isTorn = false
  /// Bytes read so far; at the end, the file's size.
  private(set) var size = 0

  private static let pieceSize = 1 << 20
  /// Far longer than any line ever written, in bytes.
  private static let longestLine = 64 << 20

  init(_ number: Int, in folder: Descriptor) throws(ManifestError) {
    name = ManifestSegment.name(of: number)
    do throws(FileError) {
      file = try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
    } catch {
      throw ManifestError(error)
    }
  }

  /// Returns the next whole line, or `nil` after the last.
  ///
  /// - Throws: `ManifestError` of code `damaged` at a whole line after a torn one that no crash
  ///   leaves behind.
  mutating func next() throws(ManifestError) -> ManifestLine? {
    while let range = try nextLine() {
      guard let line = ManifestLine.decode(bytes[range]) else {
        isTorn = true
        isBehindHole = ManifestHole.ends(in: range, of: bytes)
        continue
      }
      if !isTorn {
        lastSequence = line.seq
        lastLine = range
        return line
      }
      guard isBehindHole, mayEnd(before: line) else {
        throw ManifestError(
          .damaged,
          "Manifest segment “\(name)” is damaged before fact \(line.seq): restore it from a "
            + "backup, or move it away and run `pipeline rebuild-catalog`.", path: file.path)
      }
    }
    if start < bytes.count { isTorn = true }
    return nil
  }

  /// The last whole line with its newline, until the next call of `next`.
  var line: [UInt8] { bytes[lastLine] + [UInt8(ascii: "\n")] }

  /// Whether a line after a hole belongs to the batch that has the hole.
  ///
  /// If so, the batch was never reported as durable: the power failed during its flush, and its
  /// pages reached the disk out of order. The facts before the hole count; those after it do not.
  private func mayEnd(before line: ManifestLine) -> Bool {
    guard let batch = line.batch else { return false }
    return lastSequence.map { batch <= $0 + 1 } ?? true
  }

  /// Returns the range of the next line in `bytes`, without its newline.
  private mutating func nextLine() throws(ManifestError) -> Range<Int>? {
    repeat {
      if let end = newline() {
        defer {
          start = end + 1
          searched = start
        }
        return start..<end
      }
    } while try readPiece()
    return nil
  }

  private mutating func newline() -> Int? {
    let (from, count) = (searched, bytes.count)
    let found = bytes.withUnsafeBytes { buffer -> Int? in
      guard from < count, let base = buffer.baseAddress,
        let place = memchr(base + from, Int32(UInt8(ascii: "\n")), count - from)
      else { return nil }
      return UnsafeRawPointer(place) - base
    }
    if found == nil { searched = count }
    return found
  }

  /// - Returns: `false` at the end of the file.
  private mutating func readPiece() throws(ManifestError) -> Bool {
    // Holes end at a sector boundary of the file, so `bytes` must begin at one.
    let done = start / ManifestHole.sector * ManifestHole.sector
    bytes.removeFirst(done)
    start -= done
    searched -= done
    do throws(FileError) {
      guard bytes.count - start < Self.longestLine else {
        throw FileError(
          .other,
          "“\(file.path.printable)” has a line longer than \(Self.longestLine) bytes.",
          path: file.path)
      }
      var failure: FileError?
      let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
        do throws(FileError) {
          count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
        } catch { failure = error }
      }
      if let failure { throw failure }
      bytes.append(contentsOf: piece)
      size += piece.count
      return !piece.isEmpty
    } catch {
      throw ManifestError(error)
    }
  }
}

/// Zeros where pages of a file never reached the disk.
///
/// A file's new size may reach the disk before its bytes, and later pages before earlier ones. The
/// gap reads as zeros up to the end of a sector. No line contains a zero byte, because JSON escapes
/// it. A single changed byte is no hole.
enum ManifestHole {
  /// Bytes that a file system writes at once.
  static let sector = 512

  /// Whether a run of zeros ends at a sector boundary within a range.
  static func ends(in range: Range<Int>, of bytes: [UInt8]) -> Bool {
    var boundary = (range.lowerBound / sector + 1) * sector
    while boundary <= range.upperBound {
      if boundary < bytes.endIndex, bytes[boundary - 1] == 0, bytes[boundary] != 0 { return true }
      boundary += sector
    }
    return false
  }

  /// Whether the bytes contain a zero.
  static func isAnywhere(in bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { $0.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false }
  }
}
