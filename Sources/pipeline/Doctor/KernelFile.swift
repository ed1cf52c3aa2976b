import Files
import Glibc
import PipelineModel

/// What the kernel tells in a file of `/proc` or `/sys`. Source: proc(5).
enum KernelFile {
  /// The text without the line break at its end; `nil` where there is no such file.
  static func read(_ path: BytePath) -> String? {
    // That it can't be read is what the caller wants to know.
    guard let file = try? Descriptor.open(path, flags: O_RDONLY),
      var bytes = try? file.readToEnd(limit: 1 << 20)
    else { return nil }
    while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
