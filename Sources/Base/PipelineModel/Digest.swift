/// A SHA-256 digest, which names an original.
///
/// Thirty-two bytes, written as 64 lower-case hexadecimal digits like `sha256sum`.
public struct Digest: Hashable, Sendable, CustomStringConvertible {
  /// The thirty-two bytes.
  public let bytes: [UInt8]

  /// Creates a digest from thirty-two bytes, or returns `nil` for any other count.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Parses 64 hexadecimal digits.
  public init?(_ hex: String) {
    guard let bytes = Hexadecimal.decode(Array(hex.utf8)) else { return nil }
    self.init(bytes: bytes)
  }

  /// The 64 digits.
  public var hex: String { Hexadecimal.encode(bytes) }

  public var description: String { hex }
}

extension Digest: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let digest = Digest(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "“\(text)” is not a SHA-256")
    }
    self = digest
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}

/// A digest of everything but the input bytes that determines a stage's output.
///
/// A job done under one fingerprint need not be repeated under the same one.
public struct Fingerprint: Hashable, Sendable {
  /// A SHA-256 of plugin, output version, options and needed stages.
  public let digest: Digest

  public init(_ digest: Digest) { self.digest = digest }

  /// The first sixteen digits: enough to distinguish the renditions of one original.
  public var short: String { String(digest.hex.prefix(16)) }
}

/// Bytes written as pairs of lower-case hexadecimal digits.
public enum Hexadecimal {
  /// Encodes each byte as two digits.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    return String(unsafeUninitializedCapacity: 2 * bytes.count) { characters in
      // Two digits are written for each byte, so each place once.
      for (index, byte) in bytes.enumerated() {
        characters[2 * index] = digit(byte >> 4)
        characters[2 * index + 1] = digit(byte & 15)
      }
      return 2 * bytes.count
    }
  }

  static func append(_ byte: UInt8, to characters: inout [UInt8]) {
    characters.append(digit(byte >> 4))
    characters.append(digit(byte & 15))
  }

  /// - Parameter value: below 16.
  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
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
