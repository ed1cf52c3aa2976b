package import Containers
internal import Glibc

/// A file that is opened once and read only through that descriptor, or a file in memory.
package final class PictureFile {
  /// Where the bytes are.
  enum Storage {
    case descriptor(Int32, path: String)
    case memory([UInt8])
  }

  let storage: Storage
  /// The size in bytes when it was opened.
  package let size: Int

  /// Makes a file of bytes that another file contains, such as a preview.
  package init(bytes: [UInt8]) {
    storage = .memory(bytes)
    size = bytes.count
  }

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
    storage = .descriptor(descriptor, path: path)
    size = Int(status.st_size)
  }

  deinit {
    if case .descriptor(let descriptor, _) = storage { close(descriptor) }
  }

  /// Reads up to `count` bytes at `offset`; fewer only at the end of the file.
  package func read(at offset: Int, count: Int) throws(VipsError) -> [UInt8] {
    guard offset >= 0, count > 0, offset < size else { return [] }
    let wanted = min(count, size - offset)
    let descriptor: Int32
    switch storage {
    case .memory(let bytes): return Array(bytes[offset..<(offset + wanted)])
    case .descriptor(let number, _): descriptor = number
    }
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

extension PictureFile {
  /// Reads the tags of a file with TIFF directories.
  ///
  /// - Parameter body: receives a reader, which treats unreadable bytes as absent.
  /// - Returns: what `body` returns, or `nil` if the file has no TIFF header.
  /// - Throws: `VipsError` as `withBytes` does.
  package func withTags<Result>(_ body: (TagReader) -> Result) throws(VipsError) -> Result? {
    try withFetching(by: read(at:count:)) { fetch in TagReader(read: fetch).map(body) }
  }

  /// Reads bounded parts of the file by offset.
  ///
  /// - Parameter body: receives a reader, which treats unreadable bytes as absent.
  /// - Throws: `VipsError` if the kernel failed to read, whatever `body` returned.
  package func withBytes<Result>(_ body: (ByteReader) -> Result) throws(VipsError) -> Result {
    try withFetching(by: read(at:count:)) { fetch in body(ByteReader(size: size, fetch: fetch)) }
  }
}
