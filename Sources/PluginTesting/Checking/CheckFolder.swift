package import Files
import Glibc
package import PipelineModel

/// A folder for one run of the checks, which goes with the object.
package final class CheckFolder {
  /// Its absolute path, without links in it.
  package let path: BytePath
  private let parent: Descriptor
  private let folder: Descriptor

  /// Makes it where the environment wants temporary files, else in `/tmp`.
  package convenience init() throws(FileError) {
    try self.init(
      in: BytePath(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"),
      named: "pipeline-check-")
  }

  /// Makes it in another folder, under a name with this beginning.
  package init(in place: BytePath, named prefix: String) throws(FileError) {
    let place = try FileSystem.realPath(of: place)
    // The six letters are replaced by a name that nothing has. Source: mkdtemp(3).
    let pattern = place.appending("\(prefix)XXXXXX")
    var name = pattern.bytes.map { CChar(bitPattern: $0) } + [0]
    guard mkdtemp(&name) != nil else { throw FileError("make the folder", pattern, errno: errno) }
    path = BytePath(bytes: name.dropLast().map { UInt8(bitPattern: $0) })
    parent = try Descriptor.openFolder(place)
    folder = try Descriptor.openFolder(path)
  }

  deinit {
    // Clean-up: the checks are over, whatever becomes of their folder.
    try? parent.removeTree(FolderEntry(name: path.lastComponent, kind: .folder))
  }

  /// Writes a file, in place of one that has the name.
  package func write(_ bytes: [UInt8], as name: BytePath) throws(FileError) -> BytePath {
    let file = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(bytes)
    return path.appending(name)
  }
}
