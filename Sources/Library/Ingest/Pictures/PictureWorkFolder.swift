package import Files
import Glibc
import PipelineModel
import Synchronization

/// A folder in which one picture is made; removed with this object.
///
/// It is locked, so that others know whether its owner lives.
package final class PictureWorkFolder: Sendable {
  package let folder: Descriptor
  private let parent: Descriptor
  private let name: BytePath

  private static let numbers = Atomic(0)

  package init(in parent: Descriptor) throws(FileError) {
    let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    name = BytePath("pipeline-picture-\(getpid())-\(number)")
    self.parent = parent
    // Of a killed process with the same ID.
    if try parent.statusIfThere(of: name) != nil {
      try parent.removeTree(FolderEntry(name: name, kind: .folder))
    }
    guard try parent.makeFolder(name) else {
      let path = parent.path.appending(name)
      throw FileError(.exists, "“\(path.printable)” was made by somebody else.", path: path)
    }
    folder = try Descriptor.openFolder(name, in: parent, followsLinks: false)
    _ = folder.lockFolderIfFree()
  }

  deinit {
    // Clean-up: what stays is removed by who makes a folder next.
    try? parent.removeTree(FolderEntry(name: name, kind: .folder))
  }
}
