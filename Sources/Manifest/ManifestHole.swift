import Glibc

/// Zeros where pages of a file never reached the disk.
///
/// A file's new size may reach the disk before its bytes, and later pages before earlier ones. The
/// gap reads as zeros up to the end of a sector. No line contains a zero byte, because JSON escapes
/// it. A single changed byte is no hole.
enum ManifestHole {
  /// Bytes that a file system writes at once.
  static let sector = 512

  /// Whether a run of zeros ends at a sector boundary within a range.
  static func ends(in range: Range<Int>, of bytes: [UInt8]) -> Bool {
    var boundary = (range.lowerBound / sector + 1) * sector
    while boundary <= range.upperBound {
      if boundary < bytes.endIndex, bytes[boundary - 1] == 0, bytes[boundary] != 0 { return true }
      boundary += sector
    }
    return false
  }

  /// Whether the bytes contain a zero.
  static func isAnywhere(in bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { $0.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false }
  }
}
