import CLinux
import Glibc
package import PipelineModel

/// A pipe by its two ends: what is written to one end is read from the other. Source: pipe2(2).
package struct PipeEnds: Sendable {
  /// The end to read from.
  package let reading: Descriptor
  /// The end to write to.
  package let writing: Descriptor

  /// Makes a pipe whose ends are closed in programs that are started.
  ///
  /// - Parameter name: what errors call it.
  package init(_ name: BytePath) throws(FileError) {
    var ends: [Int32] = [-1, -1]
    try systemCall("make", name) { pipe2(&ends, O_CLOEXEC) }
    reading = Descriptor(takingOver: ends[0], path: name)
    writing = Descriptor(takingOver: ends[1], path: name)
  }
}

extension Descriptor {
  /// Lets calls return at once that would have to wait. Source: fcntl(2).
  package func setNonBlocking() throws(FileError) {
    let flags = try systemCall("examine", path) { pipeline_fcntl(number, F_GETFL, 0) }
    try systemCall("set", path) { pipeline_fcntl(number, F_SETFL, flags | O_NONBLOCK) }
  }

  /// Writes as much as there is room for.
  ///
  /// - Returns: how many bytes were written; 0 where there is no room now.
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

  /// Reads what is there, up to the buffer's size.
  ///
  /// - Returns: the number of bytes, 0 at the end; `nil` where there is nothing now.
  package func readSome(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int? {
    do throws(FileError) {
      return try read(into: buffer)
    } catch {
      if error.errno == EAGAIN { return nil }
      throw error
    }
  }
}
