import Hashing
package import PipelineModel

extension Descriptor {
  /// Hashes from the current position to the end.
  ///
  /// - Returns: the SHA-256 and the number of bytes that were read.
  package func hash() throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var size = 0
    try forEachChunk { chunk throws(FileError) in
      hash.update(chunk)
      size += chunk.count
    }
    return (hash.finalize(), size)
  }
}
