import Containers
import Glibc
import PictureDecoding

/// A raw file that is read in parts by offset.
final class RawFile {
  private let descriptor: Int32
  /// The first error of the kernel that a read met; `nil` if all could be read.
  private(set) var failure: Int32?
  /// The size in bytes when it was opened.
  let size: Int

  /// Opens a regular file for reading.
  init(path: String) throws(DecoderError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let number = errno
    guard descriptor >= 0 else {
      throw DecoderError(
        .inputOutput, "The file can't be opened: \(String(cString: strerror(number)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw DecoderError(.inputOutput, "The file is not a regular file")
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads up to `count` bytes at `offset`; fewer at the end of the file, or where the kernel fails,
  /// which `failure` then tells.
  func read(at offset: Int, count: Int) -> [UInt8] {
    guard offset >= 0, count > 0, offset < size else { return [] }
    let wanted = min(count, size - offset)
    return [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
      while initialized < wanted {
        let got = pread(
          descriptor, buffer.baseAddress?.advanced(by: initialized), wanted - initialized,
          off_t(offset + initialized))
        if got < 0 {
          let number = errno
          if number == EINTR { continue }
          if failure == nil { failure = number }
        }
        if got <= 0 { return }
        initialized += got
      }
    }
  }

  /// Throws if the kernel failed to read, which looks like the end of the file otherwise.
  ///
  /// - Parameter whole: whether to read what was not read yet, because LibRaw, which reads by itself,
  ///   does not tell a failure from the end.
  func check(whole: Bool, isCancelled: () -> Bool) throws(DecoderError) {
    if whole, !isChecked {
      for offset in stride(from: 0, to: size, by: Self.block) where failure == nil {
        if isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
        _ = read(at: offset, count: Self.block)
      }
      isChecked = true
    }
    guard let failure else { return }
    throw DecoderError(
      .inputOutput, "The file can't be read: \(String(cString: strerror(failure)))")
  }

  private static let block = 1 << 20
  private var isChecked = false

  /// The TIFF directories that start at an offset; `nil` if there is no TIFF header.
  func tags(at base: Int = 0) -> TagReader? {
    TagReader { offset, count in
      guard offset >= 0, count <= Self.longestValue else { return [] }
      return self.read(at: base + offset, count: count)
    }
  }

  /// No tag that is read here is longer, in bytes.
  private static let longestValue = 1 << 20
}
