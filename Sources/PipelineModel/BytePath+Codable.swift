import FoundationEssentials

extension BytePath: Codable {
  /// Reads a path that `encode` wrote.
  public init(from decoder: any Decoder) throws {
    self.init(bytes: try decoder.singleValueContainer().decode(Data.self))
  }

  /// Writes the bytes, whatever they are; in JSON as base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Data(bytes))
  }
}
