import Files
import Manifest
import PipelineModel

/// A file back in its place, open, with its folder.
struct ReturnedFile {
  let file: Descriptor
  let folder: Descriptor

  /// The hidden name of an incomplete copy.
  static func temporaryName(of taking: AssetID) -> BytePath {
    BytePath(".pipeline-return-\(taking)")
  }

  /// Restores the file's permissions and time, and waits until all of it is on disk.
  ///
  /// - Returns: the return with the file's identity.
  func finish(_ back: ManifestFact.Return) throws(FileError) -> ManifestFact.Return {
    try restore(back)
    try folder.sync()
    var ended = back
    ended.place.identity = try file.status().identity
    return ended
  }

  /// Restores the file's permissions and time, and waits until its bytes are on disk.
  func restore(_ back: ManifestFact.Return) throws(FileError) {
    try file.setModified(back.place.identity.modified)
    try file.setPermissions(back.place.permissions)
    try file.sync()
  }
}
