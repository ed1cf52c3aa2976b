import Files
import Originals
import PipelineModel

/// Checks that a source to be removed and the stored original are two files.
///
/// Device and inode number show that, unless another file system shows the library a second time:
/// an overlay, or a share of this machine mounted here.
struct RemovalCheck {
  let source: Descriptor
  let original: Descriptor

  /// Throws if they are one file, or if a source that looks like an original may be.
  ///
  /// Only originals have their own digest as their name. Such a source's time is changed for a
  /// moment: if the original's time changes with it, they are one file.
  func requireTwoFiles(sourceName: BytePath, digest: Digest) throws(FileError) {
    let status = try source.status()
    if try original.status().isSameNode(as: status) {
      throw FileError(
        .other, "“\(source.path.printable)” is the stored original itself.", path: source.path)
    }
    guard sourceName == OriginalLayout.name(of: digest) else { return }
    let before = try original.status().identity.modified
    let modified = status.identity.modified
    // More than two seconds, the coarsest resolution of file systems.
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

  func isOriginalThere(_ path: BytePath) throws(FileError) -> Bool {
    do throws(FileError) {
      return try FileSystem.status(of: path).isSameNode(as: original.status())
    } catch let error where error.code == .notFound {
      return false
    }
  }
}
