/// An Internet media type such as `image/jpeg`.
public struct MediaType: Hashable, Sendable, RawRepresentable {
  /// The type and subtype in lower case, without parameters.
  public let rawValue: String

  /// Creates a media type from text, ignoring case.
  public init(rawValue: String) { self.rawValue = rawValue.lowercased() }

  /// The type of unidentified bytes.
  public static let unknown = MediaType(rawValue: "application/octet-stream")

  /// Whether a pattern such as `image/*`, `image/jpeg` or `*/*` matches this type.
  public func matches(_ pattern: String) -> Bool {
    let pattern = pattern.lowercased()
    if pattern == "*/*" { return true }
    guard pattern.hasSuffix("/*") else { return pattern == rawValue }
    return rawValue.hasPrefix(pattern.dropLast())
  }

  /// The file name extension of a media type: its subtype, or the usual short form.
  package static func fileExtension(of mediaType: String) -> String {
    switch mediaType {
    case "image/jpeg": "jpg"
    case "image/svg+xml": "svg"
    case "text/plain": "txt"
    default:
      String(
        (mediaType.split(separator: "/").last ?? "bin").filter {
          $0.isASCII && ($0.isLetter || $0.isNumber)
        }.prefix(16))
    }
  }
}
