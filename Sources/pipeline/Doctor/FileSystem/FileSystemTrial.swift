import Files
import Glibc
import PipelineModel

/// One operation, tried on the library's file system.
protocol FileSystemTrial: Sendable {
  /// What it is called.
  var name: String { get }

  /// Tries it in a folder that nobody else uses.
  ///
  /// - Throws: `FileError` where the program can't do without it.
  func run(in folder: Descriptor) throws(FileError) -> Finding
}

extension FileSystemTrial {
  /// Makes a file with some bytes in it.
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
