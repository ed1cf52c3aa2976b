import Files
import PipelineModel
import Synchronization

extension S3Client {
  /// What a failed request means to who asked.
  func fileError(_ error: any Error, _ key: String?) -> FileError {
    let path = BytePath(key.map { "\(location.name)/\($0)" } ?? location.name)
    switch error {
    case let error as FileError: return error
    case let error as S3Error:
      if error.isNoSuchKey {
        return FileError(.notFound, "“\(path.printable)” is missing from the store.", path: path)
      }
      if error.isBadDigest {
        return FileError(
          .changed, "The store \(server) got other bytes than were read for “\(path.printable)”.",
          path: path)
      }
      let isOfObject = key != nil && error.isOfObject
      let text = error.text(
        of: location, name: isOfObject ? path.printable : location.name, server: server,
        skew: skew.withLock { $0 })
      return FileError(isOfObject ? .other : .unavailable, text, path: path)
    case HTTPTransfer.Failure.local(let error): return error
    case HTTPTransfer.Failure.connection(let reason, _),
      HTTPTransfer.Failure.unreachable(let reason):
      return FileError(
        .unavailable,
        "The store \(server) with “\(location.name)” can't be reached: \(reason).", path: path)
    case HTTPTransfer.Failure.unusable(let reason):
      return FileError(
        .unavailable, "Requests to the store \(server) can't be made: \(reason).", path: path)
    default: return FileError(.other, "\(error)", path: path)
    }
  }
}
