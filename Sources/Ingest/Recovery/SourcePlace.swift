import Files
import Glibc
import Manifest
import PipelineModel

/// The place that a taking took its file from, as it is now.
struct SourcePlace {
  private let intent: ManifestFact.Intent

  init(_ intent: ManifestFact.Intent) { self.intent = intent }

  /// Its path, for messages.
  var path: BytePath { intent.source.appending(intent.path) }

  /// Its folder, opened part by part: the whole path may be longer than the kernel takes.
  func openFolder() throws(FileError) -> Descriptor {
    try Descriptor.openFolder(intent.source).openParent(of: intent.path)
  }

  /// The regular file that is there now; `nil` where there is none, or it can't be read.
  func open() -> Descriptor? {
    do throws(FileError) {
      let file = try Descriptor.open(
        intent.path.lastComponent, in: openFolder(), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return try file.status().kind == .regular ? file : nil
    } catch {
      // What can't be seen is taken as lost: then nothing that may be a copy of it is removed.
      return nil
    }
  }

  /// The file that is there now, if it is as it was by size and time.
  func openUnchanged() throws(FileError) -> Descriptor? {
    guard let file = open() else { return nil }
    let identity = try file.status().identity
    let isSame =
      identity.size == intent.identity.size && identity.modified == intent.identity.modified
    return isSame ? file : nil
  }

  /// Whether all bytes of a file of `incoming/` are in the file that is there now.
  ///
  /// They are compared, unless that is the very file that the taking began with: numbers of inodes
  /// mean nothing once a library or a source was restored.
  func holdsAllBytes(
    of part: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Bool {
    guard let file = open() else { return false }
    let status = try file.status()
    if status.identity == intent.identity { return true }
    guard try file.begins(with: part, isStopped: isStopped) else { return false }
    // Somebody may have put it back just now, and the other is removed for its sake.
    try file.sync()
    return true
  }
}
