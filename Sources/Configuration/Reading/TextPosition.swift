/// A line and column in a text.
struct TextPosition {
  private var offset = 0
  /// The line, from 1.
  private(set) var line = 1
  /// The column in characters, from 1.
  private(set) var column = 1

  /// Advances to an offset; never moves back.
  mutating func advance(to target: Int, in bytes: [UInt8]) {
    while offset < min(target, bytes.count) {
      if bytes[offset] == 0x0A {
        line += 1
        column = 1
      } else if offset + 1 == bytes.count || bytes[offset + 1] & 0xC0 != 0x80 {
        // Count each UTF-8 sequence once, at its last byte.
        column += 1
      }
      offset += 1
    }
  }
}
