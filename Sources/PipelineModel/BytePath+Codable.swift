import FoundationEssentials

extension BytePath: Codable {
  /// Decodes a path that `encode` wrote.
  public init(from decoder: any Decoder) throws {
    self.init(bytes: try decoder.singleValueContainer().decode(Data.self))
  }

  /// Encodes the bytes, whatever they are; as base64 in JSON.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Data(bytes))
  }
}
