package import Files

/// Reads lines from a stream, as the peer sends them.
package final class LineReader {
  private let stream: Descriptor
  private let limit: Int
  private var lines = LineBuffer()

  /// - Parameter limit: the longest line.
  package init(_ stream: Descriptor, limit: Int) {
    self.stream = stream
    self.limit = limit
  }

  /// The next line without its end; `nil` when the peer has gone, or sends a line that is too long.
  package func next() throws(FileError) -> [UInt8]? {
    while true {
      if let line = lines.next() { return line }
      guard lines.count <= limit else { return nil }
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
      defer { buffer.deallocate() }
      let count = try stream.read(into: buffer)
      if count == 0 { return nil }
      lines.add(buffer[..<count])
    }
  }
}
