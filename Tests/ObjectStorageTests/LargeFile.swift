import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel

/// A file that takes an upload in parts.
enum LargeFile {
  /// - Returns: the file, its size, its digest, and the folder with which it goes.
  static func make() throws -> (Descriptor, Int, Digest, TemporaryFolder) {
    let folder = try TemporaryFolder()
    let file = try Descriptor.open(
      folder.appending("large"), flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    var random = SeededRandom(seed: 11)
    let piece = (0..<1 << 20).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    for number in 0..<70 { try file.write([UInt8(number)] + piece) }
    try file.seek(to: 0)
    let (digest, size) = try file.hash()
    return (file, size, digest, folder)
  }
}
