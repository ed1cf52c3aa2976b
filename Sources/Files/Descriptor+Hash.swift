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
}
