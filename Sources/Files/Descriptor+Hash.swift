import Hashing
package import PipelineModel

extension Descriptor {
  /// Hashes from the current position to the end.
  ///
  /// - Parameters:
  ///   - size: how many bytes are expected, so that little memory is taken for few.
  ///   - isStopped: asked for each mebibyte, if given.
  /// - Returns: the SHA-256 and the number of bytes that were read.
  /// - Throws: `FileError`, of code `stopped` if that is true.
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
