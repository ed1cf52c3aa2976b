import CLinux
import Glibc
import Hashing
package import PipelineModel

extension Descriptor {
  /// What addresses, offsets and lengths of direct reads are a multiple of; no common disk wants more.
  private static let directAlignment = 1 << 12

  /// The most bytes of a direct read: nothing reads ahead of it, so a small one waits for the disk often.
  private static let directReadSize = 2 << 20

  /// Hashes the whole file with bytes that come from the disk, as far as that can be asked for.
  ///
  /// Pages in the cache are dropped, and the bytes read past it where the file system grants
  /// that, else through it. Source: posix_fadvise(2); open(2), “O_DIRECT”.
  ///
  /// - Parameter isStopped: asked for every two mebibytes, if given.
  /// - Returns: the SHA-256 and the number of bytes that were read.
  /// - Throws: `FileError`, of code `stopped` if that is true.
  package func hashFromDisk(
    isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var size = 0
    // Advice: what a program has changed and nobody has written yet stays.
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
      // The file's end: behind it there is no place that a direct read may begin at.
      if isDirect, count % Self.directAlignment != 0 { isDirect = setDirect(false) }
    }
  }

  /// Asks for reads past the page cache, or for ordinary ones again. Source: fcntl(2), F_SETFL.
  ///
  /// - Returns: whether reads are direct from now on.
  @discardableResult
  private func setDirect(_ isDirect: Bool) -> Bool {
    // A file system without them refuses.
    pipeline_set_direct(number, isDirect ? 1 : 0) == 0 && isDirect
  }
}
