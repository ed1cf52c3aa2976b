import Foundation
import PictureDecoding

/// A grey JPEG of one value, whose blocks all have the same short code.
enum JPEGSample {
  /// - Parameter orientation: that of an EXIF block; `nil` for no block.
  static func bytes(width: Int, height: Int, orientation: Int? = nil) -> [UInt8] {
    var out: [UInt8] = [0xFF, 0xD8]
    if let orientation {
      let tiff = Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0]
      let block = Array("Exif\0\0".utf8) + tiff + [UInt8(orientation), 0, 0, 0, 0, 0, 0]
      out += [0xFF, 0xE1, 0, UInt8(block.count + 2)] + block
    }
    out += [0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
    out += [0xFF, 0xC0, 0, 11, 8] + big(height) + big(width) + [1, 1, 0x11, 0]
    // One code of one bit each: no difference, and the end of the block.
    for table: UInt8 in [0x00, 0x10] {
      out += [0xFF, 0xC4, 0, 20, table, 1] + [UInt8](repeating: 0, count: 15) + [0]
    }
    out += [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
    let bits = (width + 7) / 8 * ((height + 7) / 8) * 2
    out += [UInt8](repeating: 0, count: bits / 8)
    if bits % 8 > 0 { out.append(UInt8(0xFF >> (bits % 8))) }
    return out + [0xFF, 0xD9]
  }

  private static func big(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
}

/// A file for one test, which goes with the object.
final class SampleFile {
  let path: String

  /// - Parameter size: the size in bytes, to which the file is extended by zeros.
  init(_ bytes: [UInt8], size: Int? = nil) throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "raw-\(UUID().uuidString)")
    try Data(bytes).write(to: url)
    path = url.path
    guard let size else { return }
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: UInt64(size))
    try handle.close()
  }

  // Clean-up only.
  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// The decoders, loaded from the folder that this test was built in.
enum BuiltDecoder {
  static func raw() throws -> LoadedDecoder {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let folder = URL(fileURLWithPath: program).deletingLastPathComponent()
    return try LoadedDecoder(path: folder.appending(path: "libpicture-decoder-raw.so").path)
  }
}

/// A regular file with a size that Linux refuses to read: the speed of the loopback device.
enum Unreadable {
  static let path = "/sys/class/net/lo/speed"
  static var exists: Bool {
    FileManager.default.isReadableFile(atPath: path)
      && FileManager.default.contents(atPath: path) == nil
  }
}
