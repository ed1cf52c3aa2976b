/// The marker structure of a JPEG file.
///
/// Source: ITU-T T.81, annex B.
enum JPEGStructure {
  /// Whether the segments lead from the start of the image through at least one scan to its end.
  ///
  /// Bytes after the end don't matter: phones append videos and depth maps.
  static func isWhole(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { isWhole($0) }
  }

  private static func isWhole(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return false }
    var at = 2
    var hasScan = false
    while at + 1 < bytes.count {
      guard bytes[at] == 0xFF else { return false }
      let marker = bytes[at + 1]
      switch marker {
      case 0xFF:  // fill byte
        at += 1
      case 0xD9:  // end of image
        return hasScan
      case 0x01, 0xD0...0xD7:  // without a length
        at += 2
      default:
        guard at + 3 < bytes.count else { return false }
        let length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
        guard length >= 2, at + 2 + length <= bytes.count else { return false }
        at += 2 + length
        if marker == 0xDA {  // start of scan: coded data follow up to the next marker
          hasScan = true
          at = endOfScan(bytes, from: at)
        }
      }
    }
    return false
  }

  /// Skips coded data, in which a zero or a restart marker follows each 0xFF.
  private static func endOfScan(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var at = start
    while at + 1 < bytes.count {
      if bytes[at] == 0xFF {
        let next = bytes[at + 1]
        if next != 0, !(0xD0...0xD7).contains(next) { return at }
      }
      at += 1
    }
    return bytes.count
  }
}
