import Files
import PipelineModel

/// A path as text, for messages to plugins.
///
/// If the path is not UTF-8, the text leads through an open descriptor of its folder, and is valid
/// in this process while this object lives. Source: proc(5).
struct MessagePath: Sendable {
  /// An absolute path of the same file.
  let text: String
  private let folder: Descriptor?

  /// - Parameter path: an absolute path whose last component the program chose itself.
  init(_ path: BytePath) throws(FileError) {
    if let text = path.utf8 {
      self.text = text
      folder = nil
    } else {
      let folder = try Descriptor.openFolder(path.parent)
      text = "/proc/self/fd/\(folder.number)/\(path.lastComponent)"
      self.folder = folder
    }
  }
}
