import Containers
import Glibc
import PipelinePlugin

/// A job's file, opened once and read by offset.
final class InputFile {
  private let descriptor: Int32
  private let size: Int

  /// Opens a file here, because exiv2 distinguishes open errors from damage only in its message
  /// text.
  init(path: String) throws(PluginFailure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let number = errno
    guard descriptor >= 0 else { throw Self.failure("opened", number) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw Self.failure("read", number)
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Finds the file's metadata.
  ///
  /// - Throws: `PluginFailure` of class `transient` if the kernel fails to read.
  func embeddedMetadata() throws(PluginFailure) -> EmbeddedMetadata {
    var failure: PluginFailure?
    let embedded = EmbeddedMetadata(
      ByteReader(size: size) { [descriptor] offset, count in
        do throws(PluginFailure) {
          return try Self.read(descriptor, offset, count)
        } catch {
          failure = error
          return []
        }
      })
    if let failure { throw failure }
    return embedded
  }

  private static func read(
    _ descriptor: Int32, _ offset: Int, _ count: Int
  ) throws(PluginFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
      }
      let number = errno
      if got < 0, number == EINTR { continue }
      guard got >= 0 else { throw failure("read", number) }
      guard got > 0 else { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }

  private static func failure(_ verb: String, _ number: Int32) -> PluginFailure {
    PluginFailure(.transient, "The file can't be \(verb): \(String(cString: strerror(number))).")
  }
}
