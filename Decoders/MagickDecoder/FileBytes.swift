import Containers
import Glibc
import PictureDecoding

/// A file's bytes in memory.
///
/// Read instead of mapped: where the kernel can't read a mapped file, or another program cuts it, the
/// process gets a signal instead of an error.
final class FileBytes {
  let bytes: UnsafeRawBufferPointer
  /// The file's size in bytes when it was opened.
  let size: Int

  /// The most bytes that are read.
  private static let sizeLimit = 1 << 30

  /// Reads a regular file, as far as it goes.
  ///
  /// - Parameter most: how many bytes are read at most; by default all.
  /// - Throws: `DecoderError`; `undecodable` if the file is empty, `tooLarge` beyond a GiB.
  init(path: String, most: Int = .max) throws(DecoderError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let number = errno
    guard descriptor >= 0 else { throw Self.failure(number) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw DecoderError(.inputOutput, "The file is not a regular file")
    }
    let size = Int(status.st_size)
    guard size > 0 else { throw DecoderError(.undecodable, "The file is empty") }
    guard size <= Self.sizeLimit else {
      throw DecoderError(.tooLarge, "The file has more than a GiB")
    }
    self.size = size
    let wanted = min(size, most)
    guard let address = malloc(wanted) else { throw Self.failure(errno) }
    var count = 0
    while count < wanted {
      let got = pread(descriptor, address + count, wanted - count, off_t(count))
      if got > 0 {
        count += got
      } else if got == 0 {
        break
      } else if errno != EINTR {
        let number = errno
        free(address)
        throw Self.failure(number)
      }
    }
    bytes = UnsafeRawBufferPointer(start: address, count: count)
  }

  deinit { free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }

  /// The tags of a TIFF; `nil` if the file does not begin like one.
  var tags: TagReader? {
    TagReader { [self] offset, count in
      guard offset >= 0, count > 0, offset < bytes.count else { return [] }
      return Array(bytes[offset..<(offset + min(count, bytes.count - offset))])
    }
  }

  /// Overwrites one byte of the buffer that `bytes` shows.
  func set(_ value: UInt8, at offset: Int) {
    precondition(bytes.indices.contains(offset), "there is no such byte")
    // The memory is this object's own.
    UnsafeMutableRawBufferPointer(mutating: bytes)[offset] = value
  }

  private static func failure(_ number: Int32) -> DecoderError {
    DecoderError(
      number == ENOMEM ? .outOfMemory : .inputOutput,
      "The file can't be read: \(String(cString: strerror(number)))")
  }
}

extension UnsafeRawBufferPointer {
  /// Reads a little-endian number; `nil` beyond the end.
  func little(_ offset: Int, _ count: Int) -> Int? {
    guard offset >= 0, offset <= self.count - count else { return nil }
    return self[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Reads a big-endian number; `nil` beyond the end.
  func big(_ offset: Int, _ count: Int) -> Int? {
    guard offset >= 0, offset <= self.count - count else { return nil }
    return self[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
  }
}
