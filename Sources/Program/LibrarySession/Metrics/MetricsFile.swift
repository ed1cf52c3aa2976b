package import Files
import Glibc
package import PipelineModel

/// A file of metrics that other programs read at any time, such as the textfile collector of node_exporter.
package struct MetricsFile {
  private let folder: Descriptor
  private let name: BytePath

  /// Opens its folder, so that a wrong path is found before any work.
  ///
  /// - Parameter path: an absolute path.
  /// - Throws: `FileError` if there is no such folder, or if a folder has the name.
  package init(_ path: BytePath) throws(FileError) {
    folder = try Descriptor.openFolder(path.parent)
    name = path.lastComponent
    let status = try folder.statusIfThere(of: name)
    if status?.kind == .folder {
      throw FileError(.notRegular, "“\(path.printable)” is a folder, not a file.", path: path)
    }
  }

  /// Replaces it as a whole and durably: who reads it sees the old metrics or the new ones.
  ///
  /// All may read it, whatever the umask, because the collector runs as another user.
  package func replace(with metrics: MetricText) throws(FileError) {
    // Of this process alone: `run` and `verify` may write at the same time. The collector reads only names
    // that end with “.prom”.
    let temporary = BytePath(
      bytes: Array(".".utf8) + name.bytes + Array(".\(getpid()).new".utf8))
    do throws(FileError) {
      try folder.removeIfThere(temporary)
      let file = try Descriptor.open(
        temporary, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try file.write(Array(metrics.text.utf8))
      try file.setPermissions(0o644)
      try file.sync()
      try folder.replace(temporary, to: folder, as: name)
    } catch {
      // Clean-up: the first error is the one to report.
      try? folder.remove(temporary)
      throw error
    }
    try folder.sync()
  }
}
