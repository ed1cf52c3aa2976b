import Files
import Fixtures
import PipelineModel

extension Workspace {
  /// Takes the library's folder away, as a machine does that is lost.
  func lose(as name: BytePath = "lost") throws {
    let root = try Descriptor.openFolder(root)
    try root.rename("library", to: root, as: name)
  }

  /// What the catalog says of each asset that is a fact of the manifest.
  func facts() throws -> [[String: JSONValue]] {
    try assets().map { asset in
      let names: Set = [
        "id", "source", "path", "name", "digest", "modified", "importedAt", "run", "tags",
      ]
      return (asset.object ?? [:]).filter { names.contains($0.key) }
    }
  }
}
