/// Bytes written as pairs of lower-case hexadecimal digits.
public enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Encodes each byte as two digits.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var characters: [UInt8] = []
    characters.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes { append(byte, to: &characters) }
    return String(decoding: characters, as: UTF8.self)
  }

  static func append(_ byte: UInt8, to characters: inout [UInt8]) {
    characters.append(digits[Int(byte >> 4)])
    characters.append(digits[Int(byte & 15)])
  }

  /// Decodes an even number of digits, ignoring case, or returns `nil`.
  public static func decode(_ characters: some Collection<UInt8>) -> [UInt8]? {
    guard characters.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count / 2)
    var high: UInt8?
    for character in characters {
      guard let value = value(of: character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
