internal import Glibc

/// A job's file, opened once and read by offset.
package final class InputFile {
  /// Why the kernel can't read a file.
  package struct Failure: Error, Hashable, Sendable {
    /// A sentence without a path and without a full stop.
    package var message: String
    /// The number of `errno`.
    package var number: Int32

    init(_ verb: String, _ number: Int32) {
      message = "The file can't be \(verb): \(String(cString: strerror(number)))"
      self.number = number
    }
  }

  /// The size in bytes when it was opened.
  package let size: Int
  private let descriptor: Int32

  package init(path: String) throws(Failure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let number = errno
    guard descriptor >= 0 else { throw Failure("opened", number) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw Failure("read", number)
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads up to `count` bytes at `offset`; fewer only at the end of the file.
  package func read(at offset: Int, count: Int) throws(Failure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
      }
      let number = errno
      if got < 0, number == EINTR { continue }
      guard got >= 0 else { throw Failure("read", number) }
      guard got > 0 else { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }

  /// Walks the file's container.
  ///
  /// - Parameter body: receives a reader, which treats unreadable bytes as absent.
  /// - Throws: `Failure` if the kernel failed to read, whatever `body` returned.
  package func withBytes<Result>(_ body: (ByteReader) -> Result) throws(Failure) -> Result {
    try withFetching(by: read(at:count:)) { fetch in body(ByteReader(size: size, fetch: fetch)) }
  }
}
