/// An Internet media type such as `image/jpeg`.
public struct MediaType: Hashable, Sendable, RawRepresentable {
  /// The type and subtype in lower case, without parameters.
  public let rawValue: String

  /// Makes a media type from text; the case of it does not matter.
  public init(rawValue: String) { self.rawValue = rawValue.lowercased() }

  /// Bytes of which nothing more is known.
  public static let unknown = MediaType(rawValue: "application/octet-stream")

  /// Whether this type is meant by a pattern such as `image/*`, `image/jpeg` or `*/*`.
  public func matches(_ pattern: String) -> Bool {
    let pattern = pattern.lowercased()
    if pattern == "*/*" { return true }
    guard pattern.hasSuffix("/*") else { return pattern == rawValue }
    return rawValue.hasPrefix(pattern.dropLast())
  }
}
