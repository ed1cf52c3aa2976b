import CLinux
import Glibc
import Hashing
package import PipelineModel

extension Descriptor {
  /// Hashes from the current position to the end.
  ///
  /// - Parameters:
  ///   - size: the expected number of bytes, so that a small file needs little memory.
  ///   - isStopped: called for each mebibyte, if given.
  /// - Returns: the SHA-256 and the number of bytes read.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns true.
  package func hash(
    expecting size: Int = .max, isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var count = 0
    try forEachChunk(expecting: size) { chunk throws(FileError) in
      if isStopped?() == true { throw .stopped(path) }
      hash.update(chunk)
      count += chunk.count
    }
    return (hash.finalize(), count)
  }

  /// Copies a whole file into this empty one, sharing blocks if the file system can.
  ///
  /// - Parameter isStopped: called for each mebibyte, if given.
  /// - Returns: the SHA-256 of the bytes read.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns true.
  package func fill(
    from source: Descriptor, isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> Digest {
    try source.seek(to: 0)
    if try clone(from: source) { return try hash(isStopped: isStopped).digest }
    let hash = SHA256()
    try source.forEachChunk { chunk throws(FileError) in
      if isStopped?() == true { throw .stopped(source.path) }
      hash.update(chunk)
      try write(chunk)
    }
    return hash.finalize()
  }

  /// Alignment of addresses, offsets and lengths of direct reads; no common disk needs more.
  private static let directAlignment = 1 << 12

  /// The most bytes of a direct read. It has no read-ahead, so small reads wait for the disk often.
  private static let directReadSize = 2 << 20

  /// Hashes the whole file with bytes from the disk, where possible.
  ///
  /// Drops cached pages, then reads past the cache if the file system supports that, otherwise
  /// through it. Source: posix_fadvise(2); open(2), “O_DIRECT”.
  ///
  /// - Parameter isStopped: called every 2 MiB, if given.
  /// - Returns: the SHA-256 and the number of bytes read.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns true.
  package func hashFromDisk(
    isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var size = 0
    // Only advice: dirty pages stay.
    _ = posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
    try seek(to: 0)
    let expected = try status().identity.size
    let pages = (expected + Self.directAlignment) / Self.directAlignment
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(pages * Self.directAlignment, Self.directReadSize),
      alignment: Self.directAlignment)
    defer { buffer.deallocate() }
    var isDirect = setDirect(true)
    defer { if isDirect { setDirect(false) } }
    while true {
      let count: Int
      do throws(FileError) {
        count = try read(into: buffer)
      } catch let error where isDirect && error.errno == EINVAL {
        // A disk with larger blocks, or a file system that refuses only now.
        isDirect = setDirect(false)
        continue
      }
      if count == 0 { return (hash.finalize(), size) }
      if isStopped?() == true { throw .stopped(path) }
      hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      size += count
      // The file's end; no direct read may begin at an unaligned offset.
      if isDirect, count % Self.directAlignment != 0 { isDirect = setDirect(false) }
    }
  }

  /// Turns reads past the page cache on or off. Source: fcntl(2), F_SETFL.
  ///
  /// - Returns: whether reads are direct from now on.
  @discardableResult
  private func setDirect(_ isDirect: Bool) -> Bool {
    // A file system without direct reads refuses.
    pipeline_set_direct(number, isDirect ? 1 : 0) == 0 && isDirect
  }

  /// Whether this file begins with all bytes of another, as a file does with its partial copy.
  ///
  /// Reads both from the beginning.
  ///
  /// - Parameter isStopped: called for each mebibyte, if given.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns true.
  package func begins(
    with part: Descriptor, isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> Bool {
    let size = 1 << 20
    let own = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    let other = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer {
      own.deallocate()
      other.deallocate()
    }
    try seek(to: 0)
    try part.seek(to: 0)
    while true {
      if isStopped?() == true { throw .stopped(path) }
      let wanted = try part.read(into: other)
      if wanted == 0 { return true }
      let expected = UnsafeMutableRawBufferPointer(rebasing: own[..<wanted])
      guard try fill(expected), let first = own.baseAddress, let second = other.baseAddress,
        memcmp(first, second, wanted) == 0
      else { return false }
    }
  }

  /// Fills a buffer; returns whether the file had that many bytes left.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Bool {
    var rest = buffer
    while !rest.isEmpty {
      let count = try read(into: rest)
      if count == 0 { return false }
      rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
    }
    return true
  }
}
