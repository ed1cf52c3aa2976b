import Hashing
package import PipelineModel

extension Descriptor {
  /// Hashes from the current position to the end.
  ///
  /// - Parameter isStopped: asked for each mebibyte; by default never true.
  /// - Returns: the SHA-256 and the number of bytes that were read.
  /// - Throws: `FileError`, of code `stopped` if that is true.
  package func hash(
    isStopped: () -> Bool = { false }
  ) throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var size = 0
    try forEachChunk { chunk throws(FileError) in
      if isStopped() { throw .stopped(path) }
      hash.update(chunk)
      size += chunk.count
    }
    return (hash.finalize(), size)
  }
}
