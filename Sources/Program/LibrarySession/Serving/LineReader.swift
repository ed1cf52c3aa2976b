package import Files
import Glibc

/// Reads lines from a stream, as the peer sends them.
package final class LineReader {
  private let stream: Descriptor
  private let limit: Int
  private let chunk: Int
  private var lines = LineBuffer()

  /// - Parameters:
  ///   - limit: the longest line.
  ///   - chunk: how many bytes are read at most at a time; with 1, nothing behind a line.
  package init(_ stream: Descriptor, limit: Int, chunk: Int = 1 << 16) {
    self.stream = stream
    self.limit = limit
    self.chunk = chunk
  }

  /// The next line without its end; `nil` when the peer has gone, or sends a line that is too long.
  ///
  /// - Parameter deadline: when to give up, by default never.
  /// - Throws: `FileError`, with `ETIMEDOUT` if the line is not there in time.
  package func next(
    by deadline: ContinuousClock.Instant? = nil
  ) throws(FileError) -> [UInt8]? {
    while true {
      if let line = lines.next() { return line }
      guard lines.count <= limit else { return nil }
      if let deadline, try !stream.waitForInput(until: deadline) {
        throw FileError("read", stream.path, errno: ETIMEDOUT)
      }
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
      defer { buffer.deallocate() }
      let count = try stream.read(into: buffer)
      if count == 0 { return nil }
      lines.add(buffer[..<count])
    }
  }

  /// The next bytes behind the last line, which are no lines; `nil` when the peer goes before their end.
  package func bytes(_ count: Int) throws(FileError) -> [UInt8]? {
    var bytes = lines.take(most: count)
    guard bytes.count < count else { return bytes }
    bytes.reserveCapacity(count)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    while bytes.count < count {
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count - bytes.count))
      let read = try stream.read(into: part)
      if read == 0 { return nil }
      bytes += buffer[..<read]
    }
    return bytes
  }
}
