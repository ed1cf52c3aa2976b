import Files
import Fixtures
import PipelineModel

extension Workspace {
  /// Takes the library's folder away, as if its machine were lost.
  func lose(as name: BytePath = "lost") throws {
    let root = try Descriptor.openFolder(root)
    try root.rename("library", to: root, as: name)
  }
}
