import CLinux
import Glibc
package import PipelineModel

/// The two ends of a pipe. Source: pipe2(2).
package struct PipeEnds: Sendable {
  package let reading: Descriptor
  package let writing: Descriptor

  /// Creates a pipe whose ends are close-on-exec.
  ///
  /// - Parameter name: what errors call the pipe.
  package init(_ name: BytePath) throws(FileError) {
    var ends: [Int32] = [-1, -1]
    try systemCall("make", name) { pipe2(&ends, O_CLOEXEC) }
    reading = Descriptor(takingOver: ends[0], path: name)
    writing = Descriptor(takingOver: ends[1], path: name)
  }
}

extension Descriptor {
  /// Makes calls that would block return at once. Source: fcntl(2).
  package func setNonBlocking() throws(FileError) {
    let flags = try systemCall("examine", path) { pipeline_fcntl(number, F_GETFL, 0) }
    try systemCall("set", path) { pipeline_fcntl(number, F_SETFL, flags | O_NONBLOCK) }
  }

  /// Writes as many bytes as there is room for.
  ///
  /// - Returns: the number of bytes written; 0 if there is no room now.
  package func writeSome(_ bytes: ArraySlice<UInt8>) throws(FileError) -> Int {
    do throws(FileError) {
      return try systemCall("write", path) {
        bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
      }
    } catch {
      if error.errno == EAGAIN { return 0 }
      throw error
    }
  }

  /// Reads what is available, up to the buffer's size.
  ///
  /// - Returns: the number of bytes, 0 at the end; `nil` if none are available now.
  package func readSome(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int? {
    do throws(FileError) {
      return try read(into: buffer)
    } catch {
      if error.errno == EAGAIN { return nil }
      throw error
    }
  }
}
