/// A SHA-256 digest, which names an original.
///
/// Thirty-two bytes, written as 64 lower-case hexadecimal digits like `sha256sum`.
public struct Digest: Hashable, Sendable {
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
}

extension Digest: CustomStringConvertible {
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
