import CLinux
import Glibc
import Hashing
package import PipelineModel

extension Descriptor {
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
}
