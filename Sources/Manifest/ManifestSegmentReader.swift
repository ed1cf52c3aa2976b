import Files
import Glibc
import PipelineModel

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
