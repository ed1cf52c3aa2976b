import Files
import Foundation
import Glibc
package import PipelineModel

/// A folder of its own for one test, which goes with the object and all that is in it.
package final class TemporaryFolder: Sendable {
  /// The absolute path, without links in it.
  package let path: BytePath

  /// Makes an empty folder with a unique name.
  ///
  /// - Parameter parent: where; by default in the folder for temporary files.
  package init(in parent: BytePath? = nil) throws {
    let root =
      parent.map { URL(fileURLWithPath: $0.description) }
      ?? FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    let folder = root.appending(path: "pipeline-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = BytePath(folder.path)
  }

  /// Whether `/dev/shm` can be written, and is on another file system than temporary folders.
  package static var hasOtherFileSystem: Bool {
    var (here, there) = (stat(), stat())
    return stat(FileManager.default.temporaryDirectory.path, &here) == 0
      && stat("/dev/shm", &there) == 0 && here.st_dev != there.st_dev
      && access("/dev/shm", W_OK) == 0
  }

  // Clean-up only.
  deinit { if (try? removeTree()) == nil { removeForeignTree() } }

  /// Without a process, of which there would be thousands.
  private func removeTree() throws(FileError) {
    let folder = try Descriptor.openFolder(path)
    for entry in try folder.entries() { try folder.removeTree(entry) }
    try Descriptor.openFolder(path.parent).removeFolder(path.lastComponent)
  }

  /// Removes what another user made, or what has no permissions.
  private func removeForeignTree() {
    let script = "chmod -R u+rwx -- \"$0\" 2>/dev/null; rm -rf -- \"$0\""
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script, path.description]
    try? process.run()
    process.waitUntilExit()
  }

  /// The path of something in the folder.
  package func appending(_ name: BytePath) -> BytePath { path.appending(name) }
}
