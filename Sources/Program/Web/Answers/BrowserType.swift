/// The kinds of files that a browser may show.
///
/// Everything else, such as SVG, HTML and PDF, can run scripts or plugins in the server's name, and is only
/// ever downloaded.
enum BrowserType {
  static let all: Set<String> = [
    "image/jpeg", "image/png", "image/webp", "image/gif", "image/avif", "image/jxl", "image/bmp",
  ]

  /// Films that a page may play. Whatever is in them, they run nothing.
  static let films: Set<String> = ["video/mp4", "video/quicktime", "video/webm"]

  static let download = "application/octet-stream"

  /// The header `Content-Disposition` of a download. Source: RFC 6266, RFC 8187.
  ///
  /// - Parameter name: the file's name; what would mislead a browser or another system is replaced.
  static func disposition(_ name: String) -> Header {
    // Without what hides a name's end, such as marks of direction.
    let shown = name.unicodeScalars.map { scalar -> Character in
      let isHidden: Bool =
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
      return isHidden || "/\\:".unicodeScalars.contains(scalar) ? "_" : Character(scalar)
    }
    let text = String(String(shown).prefix(200))
    let plain = String(
      text.map { $0.isASCII && !"\"%;\\".contains($0) && ($0 >= " ") ? $0 : "_" })
    return Header(
      "Content-Disposition",
      "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(URLText.encoded(text))")
  }
}

/// Text in URLs.
enum URLText {
  private static let plain = Set(
    "-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Percent-encodes all but unreserved characters. Source: RFC 3986, section 2.3.
  static func encoded(_ text: String) -> String {
    if text.utf8.allSatisfy(plain.contains) { return text }
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if plain.contains(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A query with its question mark; empty without values.
  static func query(_ values: [(String, String?)]) -> String {
    let parts = values.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
    return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
  }
}
