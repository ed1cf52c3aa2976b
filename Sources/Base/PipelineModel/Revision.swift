/// A moment in the history of a library's catalog, since which its assets may have changed.
///
/// Written as one word without meaning to others. It belongs to one catalog: one that was made anew or
/// restored from a copy refuses it, and any catalog refuses it after a month.
public struct Revision: Hashable, Sendable {
  /// The part of the history that the number belongs to: 16 hexadecimal digits.
  package let epoch: String
  /// The number of the last change; 0 before the first.
  package let number: Int64

  package init(epoch: String, number: Int64) {
    self.epoch = epoch
    self.number = number
  }
}

extension Revision: LosslessStringConvertible {
  /// Parses a `description`; any other text is `nil`.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 16,
      let epoch = Hexadecimal.decode(Array(parts[0].utf8)), let number = Int64(parts[1]),
      number >= 0
    else { return nil }
    self.init(epoch: Hexadecimal.encode(epoch), number: number)
  }

  /// The word that stands for it, such as `5f3a9c01d2e47b60-1843`.
  public var description: String { "\(epoch)-\(number)" }
}

extension Revision: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let revision = Revision(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "“\(text)” is not a revision")
    }
    self = revision
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
