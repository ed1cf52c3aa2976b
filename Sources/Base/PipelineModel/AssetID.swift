/// The key of an asset: a version 7 UUID, so that keys sort by time.
///
/// Sixteen bytes: 48 bits of milliseconds since 1970, then 74 unique bits. Written as 36 lower-case
/// characters. Source: RFC 9562, section 5.7.
public struct AssetID: Hashable, Sendable, Comparable {
  /// The sixteen bytes in network order.
  public let bytes: [UInt8]

  /// Creates an identifier from sixteen bytes, or returns `nil` for any other count.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Creates an identifier from an array known to have sixteen bytes.
  init(sixteen bytes: [UInt8]) { self.bytes = bytes }

  /// Parses `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, ignoring case.
  public init?(_ text: String) {
    let characters = Array(text.utf8)
    guard characters.count == 36 else { return nil }
    let dash = UInt8(ascii: "-")
    guard [8, 13, 18, 23].allSatisfy({ characters[$0] == dash }) else { return nil }
    guard let bytes = Hexadecimal.decode(characters.filter { $0 != dash }) else { return nil }
    self.init(bytes: bytes)
  }

  /// When the identifier was created, in milliseconds since 1970.
  public var milliseconds: UInt64 {
    bytes[0..<6].reduce(0) { $0 << 8 | UInt64($1) }
  }

  public static func < (left: AssetID, right: AssetID) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension AssetID: CustomStringConvertible {
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (index, byte) in bytes.enumerated() {
      // Groups of 8, 4, 4, 4 and 12 digits.
      if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
      Hexadecimal.append(byte, to: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension AssetID: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let identifier = AssetID(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "“\(text)” is not a UUID")
    }
    self = identifier
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
