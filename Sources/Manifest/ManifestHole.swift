import Glibc

/// Zeros where pages of a file never reached the disk.
///
/// A file's new size may be on disk before its bytes, and later pages before
/// earlier ones; what lies between reads as zeros up to the end of a sector. No
/// line has a zero in it: JSON escapes them. A single changed byte is none.
enum ManifestHole {
  /// What a file system writes at once.
  static let sector = 512

  /// Whether zeros end with a sector within a range, or with the range at the end of the file.
  static func ends(in range: Range<Int>, of bytes: [UInt8]) -> Bool {
    var boundary = (range.lowerBound / sector + 1) * sector
    while boundary <= range.upperBound {
      if boundary < bytes.endIndex, bytes[boundary - 1] == 0, bytes[boundary] != 0 { return true }
      boundary += sector
    }
    return false
  }

  /// Whether there is a zero.
  static func isAnywhere(in bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { $0.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false }
  }
}
