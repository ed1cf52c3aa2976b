import Files
import Glibc
import PipelineModel

/// A trial of one operation on the library's file system.
protocol FileSystemTrial: Sendable {
  var name: String { get }

  /// Tries the operation in a folder that nothing else uses.
  ///
  /// - Throws: `FileError` if an operation that the program requires fails.
  func run(in folder: Descriptor) throws(FileError) -> Finding
}

extension FileSystemTrial {
  @discardableResult
  func make(
    _ name: BytePath, _ text: String, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    let file = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(Array(text.utf8))
    return file
  }
}
