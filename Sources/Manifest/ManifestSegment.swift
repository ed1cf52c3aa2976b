import Files
import Glibc
import PipelineModel

/// One file of the journal.
enum ManifestSegment {
  private static func lastLine(of bytes: [UInt8]) -> ArraySlice<UInt8> {
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
    let longestLine = 1 << 16
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
    return Tail(
      lastSequence: segment.lastSequence, isTorn: segment.isTorn, bytes: segment.size)
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
  static func firstSequence(
    of number: Int, in folder: Descriptor
  ) throws(ManifestError) -> Int64? {
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
