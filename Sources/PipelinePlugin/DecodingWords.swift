extension Error {
  /// What is wrong with a decoded value, for readers who don't know the decoder.
  var words: String {
    guard let error = self as? DecodingError else { return "\(self)" }
    switch error {
    case .keyNotFound(let key, let context):
      return Self.sentence("the key “\(key.stringValue)” is missing", at: context.codingPath)
    case .typeMismatch(_, let context):
      return Self.sentence("the value has the wrong type", at: context.codingPath)
    case .valueNotFound(_, let context):
      return Self.sentence("a value is missing", at: context.codingPath)
    case .dataCorrupted(let context)
    where context.debugDescription.hasPrefix("Cannot initialize "):
      // The standard library's text for an unknown enumeration value; it ends with that value.
      let value = context.debugDescription.split(separator: " value ", maxSplits: 1).last ?? ""
      return Self.sentence("“\(value)” is not an allowed value", at: context.codingPath)
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
