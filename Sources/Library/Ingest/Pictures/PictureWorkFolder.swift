package import Files
import PipelineModel

/// A folder in which one picture is made; removed with this object.
///
/// It is locked, so that others know whether its owner lives.
package final class PictureWorkFolder: Sendable {
  package let folder: Descriptor
  private let parent: Descriptor
  private let name: BytePath

  package init(in parent: Descriptor) throws(FileError) {
    // Not the process's ID, which processes of other containers have as well.
    name = BytePath("pipeline-picture-\(UInt64.random(in: .min ... .max))")
    self.parent = parent
    guard try parent.makeFolder(name) else {
      let path = parent.path.appending(name)
      throw FileError(.exists, "“\(path.printable)” was made by somebody else.", path: path)
    }
    folder = try Descriptor.openFolder(name, in: parent, followsLinks: false)
    // Where folders can't be locked, what a kill leaves stays.
    _ = folder.lockIfFree()
  }

  deinit {
    // Clean-up: what stays is removed by who makes a folder next.
    try? parent.removeTree(FolderEntry(name: name, kind: .folder))
  }
}
