import Files
import Glibc
import Manifest
import PipelineModel

/// The place a file was imported from, in its current state.
struct SourceFile {
  private let intent: ManifestFact.Intent

  init(_ intent: ManifestFact.Intent) { self.intent = intent }

  /// Its path, for messages.
  var path: BytePath { intent.source.appending(intent.path) }

  /// Opens its folder part by part: the whole path may exceed the kernel's limit.
  func openFolder() throws(FileError) -> Descriptor {
    try Descriptor.openFolder(intent.source).openParent(of: intent.path)
  }

  /// The regular file that is there now; `nil` if there is none, or it can't be read.
  func open() -> Descriptor? {
    do throws(FileError) {
      let file = try Descriptor.open(
        intent.path.lastComponent, in: openFolder(), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return try file.status().kind == .regular ? file : nil
    } catch {
      // A file that can't be seen counts as lost, so that nothing that may be its copy is removed.
      return nil
    }
  }

  /// The file that is there now, if its size and time are unchanged.
  func openUnchanged() throws(FileError) -> Descriptor? {
    guard let file = open() else { return nil }
    let identity = try file.status().identity
    let isSame =
      identity.size == intent.identity.size && identity.modified == intent.identity.modified
    return isSame ? file : nil
  }

  /// Whether the file that is there now contains all bytes of a file in `incoming/`.
  ///
  /// The bytes are compared, unless it is the very file that the import began with: inode numbers
  /// mean nothing once a library or source was restored.
  func holdsAllBytes(
    of part: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Bool {
    guard let file = open() else { return false }
    let status = try file.status()
    if status.identity == intent.identity { return true }
    guard try file.begins(with: part, isStopped: isStopped) else { return false }
    // It may have been put back just now, and the other copy is removed because of it.
    try file.sync()
    return true
  }
}
