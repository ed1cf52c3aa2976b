import Files
import Glibc
import PipelineModel

/// Reads files in `/proc` and `/sys`. Source: proc(5).
enum KernelFile {
  /// Returns the text without trailing line breaks; `nil` if the file can't be read.
  static func read(_ path: BytePath) -> String? {
    guard let file = try? Descriptor.open(path, flags: O_RDONLY),
      var bytes = try? file.readToEnd(limit: 1 << 20)
    else { return nil }
    while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
