/// An ICC profile in a JPEG file.
///
/// Source: ICC.1:2022, annex B.4: application segments of type 2, numbered from 1.
enum JPEGProfile {
  private static let signature = Array("ICC_PROFILE\0".utf8)
  /// A segment's capacity without its length, signature, number and count.
  private static let chunk = 65535 - 2 - 14

  /// Inserts a profile after the start of image and the JFIF segment.
  static func insert(_ profile: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let count = (profile.count + chunk - 1) / chunk
    guard count > 0, count < 256, jpeg.starts(with: [0xFF, 0xD8]) else { return jpeg }
    var position = 2
    if jpeg.count > 6, jpeg[2] == 0xFF, jpeg[3] == 0xE0 {
      position = 4 + Int(jpeg[4]) << 8 + Int(jpeg[5])
    }
    guard position <= jpeg.count else { return jpeg }
    var result = Array(jpeg[..<position])
    for index in 0..<count {
      let part = profile[(index * chunk)..<min((index + 1) * chunk, profile.count)]
      let length = part.count + 16
      result += [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)]
      result += signature + [UInt8(index + 1), UInt8(count)] + part
    }
    return result + jpeg[position...]
  }
}
