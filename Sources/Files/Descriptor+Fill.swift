import Hashing
package import PipelineModel

extension Descriptor {
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
}
