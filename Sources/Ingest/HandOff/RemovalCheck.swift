import Files
import Originals
import PipelineModel

/// Whether a source that is to be removed and the stored original are two files.
///
/// Device and inode number tell, but not where another file system shows the library once more: an
/// overlay, a share of this machine that is mounted here.
struct RemovalCheck {
  /// The source, open.
  let source: Descriptor
  /// The original, open.
  let original: Descriptor

  /// Throws if they are one file, or if that can't be told of a source that looks like an original.
  ///
  /// Only originals bear their own digest as their name. Such a source gets another time for a
  /// moment: if that of the original changes with it, they are one.
  func requireTwoFiles(sourceName: BytePath, digest: Digest) throws(FileError) {
    let status = try source.status()
    if try original.status().isSameNode(as: status) {
      throw FileError(
        .other, "“\(source.path.printable)” is the stored original itself.", path: source.path)
    }
    guard sourceName == OriginalLayout.name(of: digest) else { return }
    let before = try original.status().identity.modified
    let modified = status.identity.modified
    // More than the two seconds that the coarsest file systems tell apart.
    try source.setModified(modified.addingReportingOverflow(10_000_000_000).partialValue)
    let after = try original.status().identity.modified
    try source.setModified(modified)
    guard before == after else {
      throw FileError(
        .other,
        "“\(source.path.printable)” is the stored original itself, seen through another file "
          + "system.", path: source.path)
    }
  }

  /// Whether the original is still at its path.
  func isOriginalThere(_ path: BytePath) throws(FileError) -> Bool {
    do throws(FileError) {
      return try FileSystem.status(of: path).isSameNode(as: original.status())
    } catch let error where error.code == .notFound {
      return false
    }
  }
}
