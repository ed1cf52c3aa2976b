import Files
import Hashing
import PipelineModel
import Records
import Renditions

extension RenditionStore {
  /// Makes a group's renditions durable, except those that go into the database with their rows.
  ///
  /// - Parameter perAttempt: whether other processes may be storing those of other attempts at the same jobs.
  func store(
    _ jobs: [FinishedJob], perAttempt: Bool
  ) throws(FileError) -> [[NewRendition]] {
    var paths = try put(jobs.flatMap { $0.incoming(perAttempt: perAttempt) })[...]
    return jobs.map { job in
      let kept = job.kept.map { rendition in
        switch rendition.content {
        case .database(let bytes): return rendition.new(.database(bytes))
        case .former: return rendition.new(.former)
        case .file, .stored: return rendition.new(.file(path: paths.removeFirst()))
        }
      }
      let made = job.renditions.map { rendition in
        rendition.new(rendition.bytes.map { .database($0) } ?? .file(path: paths.removeFirst()))
      }
      return kept + made
    }
  }

  /// Reads a rendition for storage in the database.
  func bytes(of path: String, _ digest: Digest) throws(FileError) -> [UInt8] {
    try open(path, copyOf: digest).readToEnd(limit: StorageLimit.greatestInDatabase)
  }

  /// Whether a rendition has the bytes that it should have.
  func isWhole(_ path: String, digest: Digest) -> Bool {
    // Whatever is wrong with it, it is made again.
    (try? open(path).hash())?.digest == digest
  }
}

extension FinishedJob {
  /// Whether any of its renditions goes into the store.
  var isToBeStored: Bool { !incoming(perAttempt: false).isEmpty }

  /// The renditions that go into the store, in the order of `store`.
  fileprivate func incoming(perAttempt: Bool) -> [IncomingRendition] {
    kept.compactMap { $0.incoming(of: job, perAttempt: perAttempt) }
      + renditions.compactMap { $0.incoming(of: job, perAttempt: perAttempt) }
  }
}
