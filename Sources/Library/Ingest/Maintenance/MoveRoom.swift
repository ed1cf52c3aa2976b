import Files
import PipelineModel

/// The disk that a catalog or originals are moved to.
struct MoveRoom {
  let folder: BytePath
  /// Returns the space to leave free on a disk of some size, both in bytes.
  let reserve: (Int) -> Int

  /// Refuses a disk without room for some bytes besides the reserve, before anything is written.
  ///
  /// - Parameters:
  ///   - subject: what takes them, with its verb, as the beginning of a sentence.
  ///   - free: called with the bytes that are missing, to remove what can be fetched again.
  /// - Throws: `IngestError` of code `noSpace`.
  func require(
    _ bytes: Int, for subject: String, freeing free: (Int) -> Void = { _ in }
  ) throws {
    var facts = try Descriptor.openFolder(folder).fileSystem()
    let reserve = reserve(facts.totalBytes)
    let wanted = bytes + min(reserve, .max - bytes)
    guard facts.freeBytes < wanted else { return }
    free(wanted - facts.freeBytes)
    facts = try Descriptor.openFolder(folder).fileSystem()
    guard facts.freeBytes < wanted else { return }
    throw IngestError(
      .noSpace,
      "\(subject) \(ByteSize(bytes: bytes)), and on the file system of “\(folder.printable)” "
        + "\(ByteSize(bytes: facts.freeBytes)) are free, of which \(ByteSize(bytes: reserve)) are kept in "
        + "reserve, so nothing was moved. Make room, or set a smaller \"reserve\".", path: folder)
  }
}
