package import Files
import Glibc
package import PipelineModel

/// A temporary folder for checks, removed with the object.
package final class CheckFolder {
  /// The absolute path without symbolic links.
  package let path: BytePath
  private let parent: Descriptor
  private let folder: Descriptor

  /// Makes it in `$TMPDIR`, by default in `/tmp`.
  package convenience init() throws(FileError) {
    try self.init(
      in: BytePath(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"),
      named: "pipeline-check-")
  }

  /// Makes it in another folder, with a name prefix.
  package init(in place: BytePath, named prefix: String) throws(FileError) {
    let place = try FileSystem.realPath(of: place)
    // mkdtemp(3) replaces the X's to make the name unique.
    let pattern = place.appending("\(prefix)XXXXXX")
    var name = pattern.bytes.map { CChar(bitPattern: $0) } + [0]
    guard mkdtemp(&name) != nil else { throw FileError("make the folder", pattern, errno: errno) }
    path = BytePath(bytes: name.dropLast().map { UInt8(bitPattern: $0) })
    parent = try Descriptor.openFolder(place)
    folder = try Descriptor.openFolder(path)
  }

  deinit {
    // Clean-up: a leftover folder does not change the checks' results.
    try? parent.removeTree(FolderEntry(name: path.lastComponent, kind: .folder))
  }

  /// Writes a file, replacing one of the same name.
  package func write(_ bytes: [UInt8], as name: BytePath) throws(FileError) -> BytePath {
    let file = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(bytes)
    return path.appending(name)
  }
}
