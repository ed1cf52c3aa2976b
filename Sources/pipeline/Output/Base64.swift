import FoundationEssentials

/// Base64 as in RFC 4648, section 4.
enum Base64 {
  static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
