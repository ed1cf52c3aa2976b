import Glibc

/// The segments of a JPEG, one after the other. Coded data are passed over.
///
/// Source: ITU-T T.81, annex B.
package struct JPEGSegments {
  /// A step from one marker to the next.
  package enum Step: Hashable, Sendable {
    /// A segment with a length, and where its content is.
    case segment(marker: UInt8, content: Range<Int>)
    /// The marker “end of image”, and where it ends.
    case end(at: Int)
  }

  /// The marker “start of scan”, behind which coded data are.
  package static let startOfScan: UInt8 = 0xDA

  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 2

  /// - Parameter bytes: must outlive this. They may end before the JPEG does.
  /// - Returns: `nil` if they begin with no “start of image”.
  package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return nil }
    self.bytes = bytes
  }

  /// Returns `nil` where the bytes end, or are those of no marker.
  package mutating func next() -> Step? {
    while at + 1 < bytes.count, bytes[at] == 0xFF {
      let marker = bytes[at + 1]
      switch marker {
      case 0xFF:  // fill byte
        at += 1
      case 0x01, 0xD0...0xD7:  // without a length
        at += 2
      case 0xD9:  // end of image
        at += 2
        return .end(at: at)
      default:
        guard at + 3 < bytes.count else { return nil }
        let length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
        guard length >= 2, at + 2 + length <= bytes.count else { return nil }
        let content = (at + 4)..<(at + 2 + length)
        at = content.upperBound
        if marker == Self.startOfScan { skipCodedData() }
        return .segment(marker: marker, content: content)
      }
    }
    return nil
  }

  /// In coded data a zero or a restart marker follows each 0xFF.
  private mutating func skipCodedData() {
    guard let base = bytes.baseAddress else { return }
    while at < bytes.count, let found = memchr(base + at, 0xFF, bytes.count - at) {
      at = UnsafeRawPointer(base).distance(to: UnsafeRawPointer(found))
      guard at + 1 < bytes.count else { break }
      let next = bytes[at + 1]
      if next != 0, !(0xD0...0xD7).contains(next) { return }
      at += 2
    }
    at = bytes.count
  }
}
