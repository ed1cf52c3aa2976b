import Files
import Glibc
import PipelineModel

/// The whole lines of one file of the journal in their order, a piece of the file in memory.
struct ManifestSegmentReader {
  private let file: Descriptor
  private let name: BytePath
  /// What was read and is still needed; begins at a multiple of a sector.
  private var bytes: [UInt8] = []
  /// Where the next line begins in it.
  private var start = 0
  /// How far it was searched for the end of that line.
  private var searched = 0
  private var isBehindHole = false
  /// The place of the last whole line so far; `nil` before the first.
  private(set) var lastSequence: Int64?
  /// Whether something that is no whole line was met; at the end, whether the file ends in it.
  private(set) var isTorn = false
  /// How many bytes were read; at the end, the file's size.
  private(set) var size = 0

  private static let pieceSize = 1 << 20
  /// What no line that was ever written comes near.
  private static let longestLine = 64 << 20

  init(_ number: Int, in folder: Descriptor) throws(ManifestError) {
    name = ManifestSegment.name(of: number)
    do throws(FileError) {
      file = try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
    } catch {
      throw ManifestError(error)
    }
  }

  /// Returns the next whole line, or `nil` behind the last.
  ///
  /// - Throws: `ManifestError` of code `damaged` at a whole line behind one that is
  ///   torn: no crash leaves that behind.
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
          "“\(name)” of the manifest is damaged before fact \(line.seq): restore it from a "
            + "backup, or move it away and run `pipeline rebuild-catalog`.", path: file.path)
      }
    }
    if start < bytes.count { isTorn = true }
    return nil
  }

  /// Whether a line behind a hole was appended together with what should be in the hole.
  ///
  /// Then nobody was ever told that any of it is on disk: the power was cut
  /// while the batch was flushed, and its pages reached the disk in another
  /// order. The facts before the hole count, those behind it never were.
  private func mayEnd(before line: ManifestLine) -> Bool {
    guard let batch = line.batch else { return false }
    return lastSequence.map { batch <= $0 + 1 } ?? true
  }

  /// Where the next line is in `bytes`, without its newline.
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
    // Holes end with a sector of the file, so what is kept begins with one.
    let done = start / ManifestHole.sector * ManifestHole.sector
    bytes.removeFirst(done)
    start -= done
    searched -= done
    do throws(FileError) {
      guard bytes.count - start < Self.longestLine else {
        throw FileError(
          .other,
          "“\(file.path.printable)” has a line that is longer than \(Self.longestLine) bytes.",
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
