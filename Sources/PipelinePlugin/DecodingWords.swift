extension Error {
  /// What is wrong with a value that was to be decoded, for people who have not written the decoder.
  var words: String {
    guard let error = self as? DecodingError else { return "\(self)" }
    switch error {
    case .keyNotFound(let key, let context):
      return Self.sentence("the key “\(key.stringValue)” is missing", at: context.codingPath)
    case .typeMismatch(_, let context):
      return Self.sentence("the value is of another type", at: context.codingPath)
    case .valueNotFound(_, let context):
      return Self.sentence("a value is missing", at: context.codingPath)
    case .dataCorrupted(let context)
    where context.debugDescription.hasPrefix("Cannot initialize "):
      // What the standard library says of a value that an enumeration does not have; it ends with it.
      let value = context.debugDescription.split(separator: " value ", maxSplits: 1).last ?? ""
      return Self.sentence("“\(value)” is none of those that are allowed", at: context.codingPath)
    case .dataCorrupted(let context):
      return Self.sentence(context.debugDescription, at: context.codingPath)
    @unknown default:
      return "a value can't be read."
    }
  }

  private static func sentence(_ text: String, at path: [any CodingKey]) -> String {
    let place = path.map { $0.intValue.map { "\($0 + 1)" } ?? $0.stringValue }
    return text + (place.isEmpty ? "." : ", in “\(place.joined(separator: ", "))”.")
  }
}
