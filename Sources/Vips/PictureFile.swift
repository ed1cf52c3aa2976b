internal import Glibc

/// A file that is opened once and read only through that descriptor.
package final class PictureFile {
  let descriptor: Int32
  /// The size in bytes when it was opened.
  package let size: Int

  /// Opens a regular file for reading.
  ///
  /// - Throws: `VipsError` of code `inputOutput` with the kernel's error number.
  package init(path: String) throws(VipsError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let number = errno
    guard descriptor >= 0 else {
      throw VipsError(.inputOutput, "The file can't be opened: \(Self.text(number))", errno: number)
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw VipsError(.inputOutput, "The file is not a regular file", errno: EINVAL)
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads up to `count` bytes at `offset`; fewer only at the end of the file.
  package func read(at offset: Int, count: Int) throws(VipsError) -> [UInt8] {
    guard offset >= 0, count > 0, offset < size else { return [] }
    let wanted = min(count, size - offset)
    var done = 0
    var number: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
      while done < wanted {
        let got = pread(
          descriptor, buffer.baseAddress?.advanced(by: done), wanted - done, off_t(offset + done))
        let failure = errno
        if got > 0 {
          done += got
        } else if got == 0 {
          break
        } else if failure != EINTR {
          number = failure
          break
        }
      }
      initialized = done
    }
    if number != 0 {
      throw VipsError(.inputOutput, "The file can't be read: \(Self.text(number))", errno: number)
    }
    return bytes
  }

  static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}
